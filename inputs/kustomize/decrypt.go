package kustomize

import (
	"context"
	"encoding/base64"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/api/types"
	sigsyaml "sigs.k8s.io/yaml"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/inputs/sops"
)

// decryptFiles decrypts the files of patches and of secretGenerator that SOPS encrypted, before they are built, as
// Flux's kustomize-controller does. Where no value of a Secret is rendered, it decrypts of the generators' those that
// decide a name, by its suffix, and what can be copied. A file of a Secret that no key decrypts stays as it is: who
// needs the value says so.
func decryptFiles(ctx context.Context, c *checker) error {
	isNeeded := c.wanted.Secrets != nil && c.wanted.Secrets.RendersValues || len(c.replacing) > 0
	for _, f := range c.files {
		//lint:ignore SA1019 kustomize still reads vars
		isNeeded = isNeeded || len(f.Replacements)+len(f.Vars) > 0
	}
	for _, dir := range slices.Sorted(maps.Keys(c.files)) {
		f := c.files[dir]
		for i, patch := range f.Patches {
			if patch.Path != "" {
				s := source{entry{field: "patches" + index(i) + ".path", path: patch.Path}, sops.FormatOf(patch.Path)}
				if err := decryptFile(ctx, c, f, dir, s); err != nil {
					return err
				}
			}
		}
		for i, g := range f.SecretGenerator {
			if c.wanted.Secrets == nil || !isNeeded && !f.hasSuffix(g.GeneratorArgs) {
				continue
			}
			for _, s := range encryptable("secretGenerator"+index(i), g.KvPairSources) {
				if err := decryptFile(ctx, c, f, dir, s); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// hasSuffix reports whether the name of a generated object ends in a hash of its values.
func (f *file) hasSuffix(g types.GeneratorArgs) bool {
	for _, o := range []*types.GeneratorOptions{f.GeneratorOptions, g.Options} {
		if o != nil && o.DisableNameSuffixHash {
			return false
		}
	}
	return true
}

// source is a file of a generator.
type source struct {
	entry
	format sops.Format
}

// encryptable are the files of a generator. As for Flux, the name of the key decides the format, and a file of
// variables is one of dotenv by default.
func encryptable(field string, s types.KvPairSources) (out []source) {
	for _, e := range sources(field, s) {
		format := sops.FormatOf(e.path)
		if !strings.HasPrefix(e.field, field+".files") {
			if format == sops.Binary {
				format = sops.Dotenv
			}
			out = append(out, source{e, format})
			continue
		}
		for _, text := range s.FileSources {
			if key, name, found := strings.Cut(text, "="); found && name == e.path {
				format = sops.FormatOf(key)
			}
		}
		out = append(out, source{e, format})
	}
	return out
}

func decryptFile(ctx context.Context, c *checker, f *file, dir string, s source) error {
	name, isDir, err := c.tree.Resolve(path.Join(dir, s.path))
	if err != nil || isDir || c.changed[name] != nil {
		return nil // kustomize says what is wrong
	}
	text, err := c.tree.ReadFile(name)
	if err != nil || !sops.IsEncrypted(s.format, text) {
		return nil
	}
	o, err := c.wanted.Secrets.Decrypt(ctx, sops.File{Format: s.format, Data: text})
	if err != nil {
		return err
	}
	if o.Reason != "" {
		c.tree.Unsettle()
		if o.IsUncertain || strings.HasPrefix(s.field, "patches") && !isOfSecret(text) {
			return f.at(diag.EncryptedSecret, s.field, name+" cannot be decrypted: "+o.Reason,
				"give the keys in decryption of the pipeline")
		}
		return nil
	}
	c.changed[name] = o.Data
	if strings.HasPrefix(s.field, "patches") {
		c.secrets.addPatch(name, text, o.Data)
	} else {
		c.secrets.add(name, s.format, o.Data)
	}
	return nil
}

// isOfSecret reports whether a patch is for a Secret: patched with what is still encrypted, that counts as encrypted.
func isOfSecret(patch []byte) bool {
	var of types.TypeMeta
	return sigsyaml.Unmarshal(patch, &of) == nil && of.Kind == "Secret"
}

// secretTexts are values of decrypted files, with what they are, and how a Secret writes them.
type secretTexts struct {
	texts  map[string]string
	finder *strings.Replacer // of all of them; nil until it is needed
}

// note adds a value that must not be shown of a decrypted file.
func (s *secretTexts) note(name, value string) {
	const shortest = 6 // shorter ones are settings, such as on and 30s
	const line = 70    // as kustomize breaks what it encodes
	what := "a value of the encrypted " + name
	if len(value) < shortest {
		return
	}
	s.texts[value] = what
	for part := range slices.Chunk([]byte(base64.StdEncoding.EncodeToString([]byte(value))), line) {
		if len(part) >= shortest {
			s.texts[string(part)] = what
		}
	}
}

// addPatch adds the values of a decrypted patch that were encrypted: the others, such as kinds, are no secrets.
func (s *secretTexts) addPatch(name string, encrypted, clear []byte) {
	var before, after any
	if sigsyaml.Unmarshal(encrypted, &before) == nil && sigsyaml.Unmarshal(clear, &after) == nil {
		decrypted(before, after, func(value string) { s.note(name, value) })
	}
}

// decrypted calls a function with the texts in a value that another one has encrypted.
func decrypted(before, after any, do func(string)) {
	switch before := before.(type) {
	case map[string]any:
		after, _ := after.(map[string]any)
		for key, inner := range before {
			decrypted(inner, after[key], do)
		}
	case []any:
		after, _ := after.([]any)
		for i := range min(len(before), len(after)) {
			decrypted(before[i], after[i], do)
		}
	case string:
		if strings.HasPrefix(before, "ENC[") {
			do(fmt.Sprint(after))
		}
	}
}

// add adds what must not be shown of a decrypted file.
func (s *secretTexts) add(name string, format sops.Format, text []byte) {
	note := func(value string) { s.note(name, value) }
	note(string(text))
	note(strings.TrimSpace(string(text)))
	var value any
	switch format {
	case sops.Dotenv, sops.INI:
		for line := range strings.Lines(string(text)) {
			_, of, _ := strings.Cut(line, "=")
			note(strings.TrimSpace(of))
		}
	case sops.YAML, sops.JSON:
		if sigsyaml.Unmarshal(text, &value) == nil {
			leaves(value, note)
		}
	}
}

// leaves calls a function with all texts in a value.
func leaves(value any, do func(string)) {
	switch value := value.(type) {
	case map[string]any:
		for _, inner := range value {
			leaves(inner, do)
		}
	case []any:
		for _, inner := range value {
			leaves(inner, do)
		}
	case string:
		do(value)
	}
}

// in returns those that a text holds. Whatever is built from a file can hold them, by a replacement.
func (s *secretTexts) in(text []byte) map[string]string {
	if len(s.texts) == 0 {
		return nil
	}
	if s.finder == nil {
		var pairs []string
		for value := range s.texts {
			pairs = append(pairs, value, "")
		}
		s.finder = strings.NewReplacer(pairs...) // looks for all of them at once
	}
	if s.finder.Replace(string(text)) == string(text) {
		return nil
	}
	out := maps.Clone(s.texts)
	maps.DeleteFunc(out, func(value, _ string) bool { return !strings.Contains(string(text), value) })
	return out
}
