package mirror

import (
	"github.com/agentry-dev/agentry/generator/manifest"
)

// ClusterStoreKind is the kind of a store that all namespaces can read.
const ClusterStoreKind = "ClusterSecretStore"

// uncopyable returns the reason why no ExternalSecret can make the same Secret in another namespace, or "".
func uncopyable(named manifest.Named) string {
	if named.External == nil {
		return "the inputs have no ExternalSecret for it"
	}
	spec := named.External.Spec
	target, _ := spec["target"].(map[string]any)
	template, _ := target["template"].(map[string]any)
	switch {
	case target["creationPolicy"] == "Merge" || target["creationPolicy"] == "None":
		return "its ExternalSecret adds to a Secret that something else creates"
	case template["templateFrom"] != nil:
		return "its ExternalSecret takes a template from an object of its own namespace"
	}
	_, hasStore := spec["secretStoreRef"]
	own := hasStore && isLocal(spec["secretStoreRef"])
	for _, list := range []string{"data", "dataFrom"} {
		entries, _ := spec[list].([]any)
		for _, e := range entries {
			entry, _ := e.(map[string]any)
			source, _ := entry["sourceRef"].(map[string]any)
			switch {
			case source["generatorRef"] != nil:
				return "a generator makes its value, and would make another one for the mirror"
			case source["storeRef"] != nil:
				own = own || isLocal(source["storeRef"])
			}
		}
	}
	if own {
		return "its ExternalSecret reads a SecretStore of its own namespace"
	}
	return ""
}

// isLocal reports whether a reference names a store that only one namespace can read.
func isLocal(ref any) bool {
	store, _ := ref.(map[string]any)
	return store["kind"] != ClusterStoreKind
}
