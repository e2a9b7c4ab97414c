package manifest

import (
	"encoding/base64"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/agentry-dev/agentry/generator/diag"
)

// readCore reads an object of a kind of Kubernetes' own, which has no CRD, and adds to the findings. It returns
// false if the object must be ignored. No message contains a value of a Secret or ConfigMap.
func readCore(w written, value typed, found findings) (all findings, use bool) {
	r := coreReader{written: w, findings: found}
	use = true
	switch value := value.(type) {
	case *corev1.Secret:
		if use = r.isReadable(); use {
			r.secret(value)
		}
	case *corev1.ConfigMap:
		if use = r.isReadable(); use {
			r.configMap(value)
		}
	case *corev1.Namespace:
		r.checkFields("spec", "sops")
	}
	return r.findings, use
}

// coreReader reads one object of a kind of Kubernetes' own.
type coreReader struct {
	written
	findings
}

// isReadable reports whether the object is not encrypted.
func (r *coreReader) isReadable() bool {
	if r.raw["sops"] == nil {
		return true
	}
	r.warn(diag.EncryptedSecret, "sops", "the "+r.kind+" is encrypted, and read as if it were not there", "")
	return false
}

func (r *coreReader) secret(s *corev1.Secret) {
	r.checkFields("data", "stringData", "type", "immutable")
	s.Data = r.binary("data")
	for key, value := range r.texts(r.raw["stringData"], "stringData", diag.InvalidSecret) {
		if s.Data == nil {
			s.Data = map[string][]byte{}
		}
		s.Data[key] = []byte(value)
	}
	switch kind := r.raw["type"].(type) {
	case nil:
	case string:
		s.Type = corev1.SecretType(kind)
	default:
		r.fail(diag.InvalidSecret, "type", "must be a string, is "+typeName(kind), "")
	}
	r.checkImmutable()
	r.checkKeys("stringData")
	size := 0
	for _, value := range s.Data {
		size += len(value)
	}
	r.checkSize(size)
}

func (r *coreReader) configMap(m *corev1.ConfigMap) {
	r.checkFields("data", "binaryData", "immutable")
	m.Data = r.texts(r.raw["data"], "data", diag.InvalidSecret)
	m.BinaryData = r.binary("binaryData")
	r.checkImmutable()
	r.checkKeys("data")
	size := 0
	for _, value := range m.Data {
		size += len(value)
	}
	for key, value := range m.BinaryData {
		size += len(value)
		if _, found := m.Data[key]; found {
			r.fail(diag.InvalidSecret, "binaryData["+key+"]", "the key is in data as well", "")
		}
	}
	r.checkSize(size)
}

// checkFields reports fields other than those named.
func (r *coreReader) checkFields(known ...string) {
	for _, name := range slices.Sorted(maps.Keys(r.raw)) {
		if !slices.Contains(known, name) && name != "apiVersion" && name != "kind" && name != "metadata" {
			r.unknownField(r.at, name, name, known)
		}
	}
}

// binary reads a map of base64 values.
func (r *coreReader) binary(path string) map[string][]byte {
	texts := r.texts(r.raw[path], path, diag.InvalidSecret)
	if texts == nil {
		return nil
	}
	out := make(map[string][]byte, len(texts))
	for key, text := range texts {
		value, err := base64.StdEncoding.DecodeString(text)
		if err != nil {
			hint := ""
			if r.kind == "Secret" {
				hint = "write it to stringData if it is meant as it is"
			}
			r.fail(diag.InvalidSecret, path+"["+key+"]", "is not base64", hint)
		}
		out[key] = value
	}
	r.checkKeys(path)
	return out
}

// checkKeys checks the keys of a map of data.
func (r *coreReader) checkKeys(path string) {
	data, _ := r.raw[path].(map[string]any)
	for key := range data {
		if messages := validation.IsConfigMapKey(key); len(messages) > 0 {
			r.fail(diag.InvalidSecret, path+"["+key+"]", "the key is not valid: "+withoutExamples(strings.Join(messages, ", ")), "")
		}
	}
}

func (r *coreReader) checkImmutable() {
	if _, ok := r.raw["immutable"].(bool); !ok && r.raw["immutable"] != nil {
		r.fail(diag.InvalidSecret, "immutable", "must be true or false, is "+typeName(r.raw["immutable"]), "")
	}
}

func (r *coreReader) checkSize(size int) {
	if size > corev1.MaxSecretSize {
		r.fail(diag.InvalidSecret, "", fmt.Sprintf("the data have %d bytes, more than %d", size, corev1.MaxSecretSize), "")
	}
}
