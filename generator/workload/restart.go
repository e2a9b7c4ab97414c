package workload

import (
	"bytes"
	"compress/gzip"
	"io"
	"reflect"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/agentry-dev/agentry/generator/runtime"
)

// Configuration returns the configuration in the manifest of its Secret; nil when there is none.
// The key does not matter: a configuration is the only value of its Secret.
func Configuration(manifest []byte) []byte {
	var secret corev1.Secret
	if yaml.Unmarshal(manifest, &secret) != nil || len(secret.StringData)+len(secret.Data) != 1 {
		return nil
	}
	for _, text := range secret.StringData {
		return []byte(text)
	}
	var compressed []byte
	for _, compressed = range secret.Data {
	}
	r, err := gzip.NewReader(bytes.NewReader(compressed))
	if err != nil {
		return nil
	}
	text, err := io.ReadAll(io.LimitReader(r, maxConfigBytes))
	if err != nil {
		return nil
	}
	return text
}

// KeepsPods reports whether the pods of a workload live on when its new manifest takes the
// place of the old one: Kubernetes replaces them when their template changes.
func KeepsPods(old, fresh []byte) bool {
	var a, b struct {
		Spec struct{ Template any }
	}
	return bytes.Equal(old, fresh) ||
		yaml.Unmarshal(old, &a) == nil && yaml.Unmarshal(fresh, &b) == nil && reflect.DeepEqual(a, b)
}

// ConfigSecret returns the name of the Secret that holds the configuration of a workload's pods;
// empty when there is none.
func ConfigSecret(manifest []byte) string {
	var w appsv1.Deployment // StatefulSets and DaemonSets have their template at the same place
	if yaml.Unmarshal(manifest, &w) != nil {
		return ""
	}
	for _, v := range w.Spec.Template.Spec.Volumes {
		if v.Name == runtime.ConfigVolume && v.Secret != nil {
			return v.Secret.SecretName
		}
	}
	return ""
}
