package workload

import (
	"bytes"
	"compress/gzip"
	"io"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/agentry-dev/agentry/generator/runtimes"
)

// Configuration returns the configuration in the manifest of its Secret, or nil. It needs no key, because a
// configuration is the only value in its Secret.
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
	return Unpack(compressed)
}

// Unpack decompresses a configuration. It returns nil for anything else.
func Unpack(compressed []byte) []byte {
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

// ConfigSecret returns the name of the Secret with the configuration of pods, or "". If there are several, it is the
// first.
func ConfigSecret(pods *corev1.PodTemplateSpec) string {
	if pods == nil {
		return ""
	}
	for _, v := range pods.Spec.Volumes {
		switch {
		case v.Name != runtimes.ConfigVolume:
		case v.Secret != nil:
			return v.Secret.SecretName
		case v.Projected != nil && len(v.Projected.Sources) > 0 && v.Projected.Sources[0].Secret != nil:
			return v.Projected.Sources[0].Secret.Name
		}
	}
	return ""
}
