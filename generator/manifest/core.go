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
	"github.com/agentry-dev/agentry/generator/internal/yamlvalue"
	"github.com/agentry-dev/agentry/generator/manifest/internal/stream"
)

// readCore reads an object of a kind of Kubernetes' own, which has no CRD, and adds to the findings. It returns
// false if the object must be ignored. No message contains a value of a Secret or ConfigMap.
func readCore(w rawObject, value typed, found findings) (all findings, use bool) {
	r := coreReader{rawObject: w, findings: found}
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
	rawObject
	findings
}

// isReadable reports whether the object is not encrypted. Encryption is not a finding: only the value is unknown, and
// who needs it says so.
func (r *coreReader) isReadable() bool { return r.raw["sops"] == nil }

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
				hint = "write plain text to stringData"
			}
			r.fail(diag.InvalidSecret, path+"["+key+"]", "is not base64", hint)
		}
		out[key] = value
	}
	r.checkKeys(path)
	return out
}

// checkKeys checks the keys of a map of data. The keys of a Secret are shown unless one is so long that they may be the
// lines of a file that a generator took for variables.
func (r *coreReader) checkKeys(path string) {
	const shown = 32
	data, _ := r.raw[path].(map[string]any)
	invalid := map[string][]string{}
	isShown := true
	for key := range data {
		if messages := validation.IsConfigMapKey(key); len(messages) > 0 {
			invalid[key] = messages
			isShown = isShown && (r.kind != "Secret" || len(key) <= shown)
		}
	}
	for key, messages := range invalid {
		at := path + "[" + key + "]"
		if !isShown {
			at = path
		}
		r.fail(diag.InvalidSecret, at, "the key is not valid: "+diag.NameRule(strings.Join(messages, ", ")), "")
	}
}

func (r *coreReader) checkImmutable() {
	if _, ok := r.raw["immutable"].(bool); !ok && r.raw["immutable"] != nil {
		r.fail(diag.InvalidSecret, "immutable", "must be true or false, is "+typeName(r.raw["immutable"]), "")
	}
}

func (r *coreReader) checkSize(size int) {
	if size > corev1.MaxSecretSize {
		r.fail(diag.InvalidSecret, "", fmt.Sprintf("the data have %d bytes, more than %d", size, corev1.MaxSecretSize),
			"")
	}
}

// Encrypted is a Secret or ConfigMap that SOPS encrypted: a description, until its text is decrypted.
type Encrypted struct {
	// Object has its metadata and place, and no value.
	Object *Object
	// Type is the type of a Secret, as far as it is written in clear.
	Type string
	// Text is the text that SOPS encrypted: the file, with all of its documents, or the object alone if it IsBuilt from
	// files.
	Text string
	// IsBuilt says that the text was changed after it was encrypted, or may have been: then SOPS's MAC is of another
	// text.
	IsBuilt bool

	opts Options
}

// nameEncrypted notes an encrypted object.
func (p *parser) nameEncrypted(o *Object, raw map[string]any) {
	keys := map[string]bool{}
	for _, field := range []string{"data", "stringData", "binaryData"} {
		data, _ := raw[field].(map[string]any)
		for key := range data {
			keys[key] = true
		}
	}
	encrypted := &Encrypted{Object: o, IsBuilt: p.origin != nil, Text: o.place().text, opts: p.opts}
	encrypted.opts.PassThrough = "" // it is copied as it is encrypted
	encrypted.Type, _ = raw["type"].(string)
	if !encrypted.IsBuilt {
		if p.text == "" {
			p.text = string(p.file.Data)
		}
		encrypted.Text = p.text
	}
	p.name(Named{ID: o.ID, Keys: slices.Sorted(maps.Keys(keys)), Encrypted: encrypted})
}

// Open reads the object from the decrypted text. Findings have the places of the encrypted object, and quote nothing.
// The object is nil if the text does not hold it, or what it holds cannot be used.
func (s *Encrypted) Decrypted(decrypted []byte) (*Object, diag.List) {
	for doc := range stream.Documents(decrypted) {
		value, _, err := yamlvalue.Decode(string(doc.Text))
		raw, ok := value.(map[string]any)
		if err != nil || !ok || raw["apiVersion"] != s.Object.APIVersion || raw["kind"] != s.Object.Kind {
			continue
		}
		p := newParser(File{Source: s.Object.of.Source, Path: s.Object.of.Path}, s.opts)
		p.add(rawObject{opts: s.opts, apiVersion: s.Object.APIVersion, kind: s.Object.Kind, raw: raw,
			at: s.Object.place()}, newValue(s.Object.APIVersion, s.Object.Kind))
		for _, o := range slices.Concat(p.result.Objects, p.result.LeftOut) {
			if o.ID == s.Object.ID {
				return usable(p.result, o)
			}
		}
	}
	return nil, nil
}

// Description describes a Secret without its values, as in "a SealedSecret with the keys a, b".
func (n Named) Description() string {
	what := "a SOPS " + n.Kind
	switch {
	case n.By != "" && strings.ContainsAny(n.By[:1], "AEIOU"):
		what = "an " + n.By
	case n.By != "":
		what = "a " + n.By
	}
	if len(n.Keys) == 0 {
		return what
	}
	return what + " with the keys " + strings.Join(n.Keys, ", ")
}

// Lacks reports whether it is known that a Secret has no such key.
func (n Named) Lacks(key string) bool { return len(n.Keys) > 0 && !slices.Contains(n.Keys, key) }

// usable returns the object of a result and what is wrong with its data; findings about the rest were made when the
// encrypted object was read.
func usable(r Result, o *Object) (*Object, diag.List) {
	found := slices.DeleteFunc(r.Diags, func(d diag.Diagnostic) bool { return d.Code != diag.InvalidSecret })
	if !slices.Contains(r.Objects, o) {
		return nil, found
	}
	return o, found
}

// Open returns a set with objects that were decrypted, and with what is wrong with those that could not be. It only
// copies pointers.
func (s *Set) Open(opened map[ID]*Object, problems map[ID]string) *Set {
	if len(opened)+len(problems) == 0 {
		return s
	}
	changes := maps.Clone(opened)
	if changes == nil {
		changes = map[ID]*Object{}
	}
	for id := range problems {
		changes[id] = nil // it is none; but a set in which it could be read is another one
	}
	out := s.With(changes)
	out.named = maps.Clone(s.named)
	for id, problem := range problems {
		n := out.named[id]
		n.Problem = problem
		out.named[id] = n
	}
	return out
}
