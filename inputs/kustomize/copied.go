package kustomize

import (
	"encoding/base64"
	"path"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/utils"
	sigsyaml "sigs.k8s.io/yaml"

	"github.com/agentry-dev/agentry/inputs/kustomizer"
)

// secretField is a field of Secrets that replacements or vars copy.
type secretField struct {
	key       string // in data or stringData; empty: all keys
	delimiter string // splits the value, if it is not empty
}

// copiedSecrets returns the values of built Secrets that replacements and vars copy into other objects.
func (b *builder) copiedSecrets(objects []kustomizer.Object) *secretTexts {
	out := &secretTexts{texts: map[string]string{}}
	fields := b.copiedFields()
	if len(fields) == 0 {
		return out
	}
	for _, o := range objects {
		var secret struct {
			Metadata         struct{ Name string }
			Data, StringData map[string]string
		}
		if o.Kind != "Secret" || sigsyaml.Unmarshal(o.Text, &secret) != nil {
			continue
		}
		what := "a replacement from Secret " + secret.Metadata.Name
		note := func(key, value string) {
			for _, f := range fields {
				if f.key != "" && f.key != key {
					continue
				}
				if out.note(what, value); f.delimiter != "" {
					for part := range strings.SplitSeq(value, f.delimiter) {
						out.note(what, part)
					}
				}
			}
		}
		for key, value := range secret.Data {
			note(key, value)
			if clear, err := base64.StdEncoding.DecodeString(strings.TrimSpace(value)); err == nil {
				note(key, string(clear))
			}
		}
		for key, value := range secret.StringData {
			note(key, value)
		}
	}
	return out
}

// copiedFields returns the fields of Secrets that replacements and vars copy.
func (b *builder) copiedFields() (out []secretField) {
	add := func(kind, field, delimiter string) {
		steps := utils.SmarterPathSplitter(field, ".")
		isData := len(steps) > 0 && (steps[0] == "data" || steps[0] == "stringData")
		if kind != "" && kind != "Secret" || !isData {
			return
		}
		f := secretField{delimiter: delimiter}
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
			add(v.ObjRef.Kind, v.FieldRef.FieldPath, "")
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
		add(r.Source.Kind, r.Source.FieldPath, delimiter)
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
