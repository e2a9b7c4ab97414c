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

// ImmutableChange compares two manifests of one workload and returns the path of the first changed field that
// the API server does not allow to change, or nothing. The rules are those of Kubernetes' apps/v1 validation of
// updates.
func ImmutableChange(old, fresh []byte) string {
	if bytes.Equal(old, fresh) {
		return ""
	}
	var a, b struct {
		Kind string
		Spec map[string]any
	}
	if yaml.Unmarshal(old, &a) != nil || yaml.Unmarshal(fresh, &b) != nil || a.Kind != b.Kind {
		return "" // the old text is not agentry's: it is replaced
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
