package helm

import "maps"

// Merge puts values over others, as Helm does with files of values. It changes neither.
func Merge(below, over map[string]any) map[string]any {
	out := make(map[string]any, len(below)+len(over))
	maps.Copy(out, below)
	for k, v := range over {
		if more, ok := v.(map[string]any); ok {
			if less, ok := out[k].(map[string]any); ok {
				v = Merge(less, more)
			}
		}
		out[k] = v
	}
	return out
}
