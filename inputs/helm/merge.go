package helm

import "maps"

// Merge merges two maps deeply into a new one, as Helm merges values files. Values of over take precedence.
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
