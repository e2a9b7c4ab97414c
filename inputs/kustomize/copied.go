package kustomize

import (
	"encoding/base64"
	"maps"
	"path"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/utils"
	sigsyaml "sigs.k8s.io/yaml"

	"github.com/agentry-dev/agentry/inputs/kustomizer"
)

// secretField is a field of Secrets that a replacement or a var copies.
type secretField struct {
	by        string // what copies it
	key       string // in data or stringData; empty: all keys
	delimiter string // splits the value, if it is not empty
}

// secret has the fields of a Secret, or of a list of Secrets, that can be copied.
type secret struct {
	Kind       string
	Metadata   struct{ Name string }
	Data       map[string]string
	StringData map[string]string `yaml:"stringData"`
	Items      []secret
}

// copiedSecrets returns the values of Secrets that replacements and vars copy into other objects.
func (b *builder) copiedSecrets(objects []kustomizer.Object) *secretTexts {
	out := &secretTexts{texts: map[string]string{}}
	fields := b.copiedFields()
	if len(fields) == 0 {
		return out
	}
	b.eachSecret(objects, func(name, key, value string) {
		for _, f := range fields {
			if f.key != "" && f.key != key {
				continue
			}
			what := f.by + " from Secret " + name
			if out.note(what, value); f.delimiter != "" {
				for part := range strings.SplitSeq(value, f.delimiter) {
					out.note(what, part)
				}
			}
		}
	})
	return out
}

// eachSecret calls do with each value of a Secret in the result or in a file or generator of the build. kustomize can
// leave a Secret out of the result after it was copied, such as one that config.kubernetes.io/local-config marks.
func (b *builder) eachSecret(objects []kustomizer.Object, do func(name, key, value string)) {
	var visit func(s secret)
	visit = func(s secret) {
		for _, item := range s.Items {
			visit(item)
		}
		if s.Kind != "Secret" {
			return
		}
		for key, value := range s.Data {
			do(s.Metadata.Name, key, value)
			if clear, err := base64.StdEncoding.DecodeString(strings.TrimSpace(value)); err == nil {
				do(s.Metadata.Name, key, string(clear))
			}
		}
		for key, value := range s.StringData {
			do(s.Metadata.Name, key, value)
		}
	}
	read := func(text []byte) {
		for doc := range documents(text) {
			var s secret
			_ = doc.Decode(&s) // what cannot be a Secret stays empty
			visit(s)
		}
	}
	for _, o := range objects {
		if o.Kind == "Secret" {
			read(o.Text)
		}
	}
	names := maps.Clone(b.refs.Files)
	for name := range b.changed {
		names[name] = true
	}
	for name := range names {
		read(b.textOf(name))
	}
	for dir, f := range b.files {
		//lint:ignore SA1019 kustomize still reads them
		for _, inline := range f.PatchesStrategicMerge {
			read([]byte(inline))
		}
		for _, p := range f.Patches {
			read([]byte(p.Patch))
		}
		for _, g := range f.SecretGenerator {
			b.eachGenerated(dir, g.KvPairSources, func(key, value string) { do(g.Name, key, value) })
		}
	}
}

// eachGenerated calls do with each key and value of a generator.
func (b *builder) eachGenerated(dir string, s types.KvPairSources, do func(key, value string)) {
	pair := func(text string) {
		if key, value, found := strings.Cut(text, "="); found {
			do(key, strings.Trim(value, `"'`))
		}
	}
	for _, literal := range s.LiteralSources {
		pair(literal)
	}
	for _, source := range s.FileSources {
		key, name, isNamed := strings.Cut(source, "=")
		if !isNamed {
			key, name = path.Base(source), source
		}
		do(key, string(b.textOf(path.Join(dir, name))))
	}
	for _, name := range append(slices.Clone(s.EnvSources), s.EnvSource) {
		for line := range strings.Lines(string(b.textOf(path.Join(dir, name)))) {
			pair(strings.TrimRight(line, "\r\n"))
		}
	}
}

// copiedFields returns the fields of Secrets that replacements and vars copy.
func (b *builder) copiedFields() (out []secretField) {
	add := func(by, kind, field, delimiter string) {
		steps := utils.SmarterPathSplitter(field, ".")
		isData := len(steps) > 0 && (steps[0] == "data" || steps[0] == "stringData")
		if kind != "" && kind != "Secret" || !isData {
			return
		}
		f := secretField{by: by, delimiter: delimiter}
		if len(steps) > 1 {
			f.key = strings.Trim(steps[1], "[]")
		}
		out = append(out, f)
	}
	replacements := slices.Clone(b.replacements)
	for dir, f := range b.files {
		for _, r := range f.Replacements {
			if replacements = append(replacements, r.Replacement); r.Path != "" {
				replacements = append(replacements, b.replacementsIn(path.Join(dir, r.Path))...)
			}
		}
		//lint:ignore SA1019 kustomize still reads them
		for _, v := range f.Vars {
			add("a var", v.ObjRef.Kind, v.FieldRef.FieldPath, "")
		}
	}
	for _, r := range replacements {
		if r.Source == nil {
			continue
		}
		delimiter := ""
		if r.Source.Options != nil {
			delimiter = r.Source.Options.Delimiter
		}
		add("a replacement", r.Source.Kind, r.Source.FieldPath, delimiter)
	}
	return out
}

// replacementsIn reads a file of replacements, which holds one or a list. kustomize reports what is wrong with it.
func (b *builder) replacementsIn(name string) (out []types.Replacement) {
	real, _, err := b.tree.Resolve(name)
	if err != nil {
		return nil
	}
	text := b.changed[real]
	if text == nil {
		if text, err = b.tree.ReadFile(real); err != nil {
			return nil
		}
	}
	if sigsyaml.Unmarshal(text, &out) != nil {
		var one types.Replacement
		if sigsyaml.Unmarshal(text, &one) == nil {
			return []types.Replacement{one}
		}
	}
	return out
}
