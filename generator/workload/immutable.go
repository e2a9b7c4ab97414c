package workload

import (
	"bytes"
	"reflect"

	"sigs.k8s.io/yaml"
)

// IsWorkload reports whether objects of a kind run pods.
func IsWorkload(kind string) bool {
	return kind == "StatefulSet" || kind == "DaemonSet" || kind == "Deployment"
}

// ImmutableChange compares two manifests of one workload object and returns the field
// that differs although the API server refuses to change it; empty when there is none.
// The rules are those of Kubernetes' apps/v1 validation of updates.
func ImmutableChange(old, fresh []byte) string {
	if bytes.Equal(old, fresh) {
		return ""
	}
	var a, b struct {
		Kind string
		Spec map[string]any
	}
	if yaml.Unmarshal(old, &a) != nil || yaml.Unmarshal(fresh, &b) != nil || a.Kind != b.Kind {
		return "" // somebody else's text: it is replaced
	}
	fields := []string{"selector"}
	if a.Kind == "StatefulSet" {
		fields = append(fields, "serviceName", "podManagementPolicy", "volumeClaimTemplates")
	}
	for _, f := range fields {
		if !reflect.DeepEqual(a.Spec[f], b.Spec[f]) {
			return "spec." + f
		}
	}
	return ""
}
