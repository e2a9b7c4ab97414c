package roots

import "maps"

// stubField is the field in which [AsStub] notes the keys without a value.
const stubField = "agentry.dev/stub"

// AsStub returns a Secret in which keys without a value count as keys whose value is unknown: it stands for one in the
// cluster.
func AsStub(secret map[string]any) map[string]any {
	out, keys := maps.Clone(secret), []string{}
	for _, field := range []string{"data", "stringData"} {
		data, _ := secret[field].(map[string]any)
		known := map[string]any{}
		for key, value := range data {
			if value == nil || value == "" {
				keys = append(keys, key)
			} else {
				known[key] = value
			}
		}
		if len(data) > 0 {
			out[field] = known
		}
	}
	out[stubField] = keys
	return out
}

// StubKeys returns the keys of a Secret whose values are unknown: see [AsStub].
func StubKeys(object map[string]any) []string {
	keys, _ := object[stubField].([]string)
	return keys
}
