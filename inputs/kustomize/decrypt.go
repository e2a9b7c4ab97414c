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

// decryptFiles decrypts SOPS files of patches and secretGenerators before the build, as Flux's kustomize-controller
// does. If no values of Secrets are rendered or copied by replacements, it decrypts only the generator files that
// decide a name, by its hash suffix. A file of a Secret that cannot be decrypted stays encrypted: whatever needs the
// value reports it.
func decryptFiles(ctx context.Context, c *checker) error {
	isNeeded := c.request.Secrets != nil && c.request.Secrets.RendersValues || len(c.replacements) > 0
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
			if c.request.Secrets == nil || !isNeeded && !f.hasSuffix(g.GeneratorArgs) {
				continue
			}
			for _, s := range sopsSources("secretGenerator"+index(i), g.KvPairSources) {
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

// source is a file with the format in which SOPS encrypts it.
type source struct {
	entry
	format sops.Format
}

// sopsSources returns the files of a generator with their formats. As in Flux, the name of the key decides the format,
// and files of variables are dotenv by default.
func sopsSources(field string, s types.KvPairSources) (out []source) {
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
		return nil // kustomize reports the error
	}
	text, err := c.tree.ReadFile(name)
	if err != nil || !sops.IsEncrypted(s.format, text) {
		return nil
	}
	o, err := c.request.Secrets.Decrypt(ctx, sops.File{Format: s.format, Data: text})
	if err != nil {
		return err
	}
	if o.Reason != "" {
		c.tree.Unsettle()
		if o.IsUncertain || strings.HasPrefix(s.field, "patches") && !isForSecret(text) {
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

// isForSecret reports whether a patch is for a Secret. A Secret with an encrypted patch counts as encrypted.
func isForSecret(patch []byte) bool {
	var of types.TypeMeta
	return sigsyaml.Unmarshal(patch, &of) == nil && of.Kind == "Secret"
}

// secretTexts has secret values that can be in built objects, in clear and as in the data of a Secret, and their
// descriptions.
type secretTexts struct {
	texts  map[string]string
	finder *strings.Replacer // finds all texts at once; built when first needed
}

// ofEncrypted begins what a value of a decrypted file is.
const ofEncrypted = "a value of the encrypted "

// note adds a secret value, and what it is.
func (s *secretTexts) note(what, value string) {
	const shortest = 6 // shorter values are settings, such as "on" and "30s"
	const line = 70    // kustomize wraps base64 at this length
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

// addPatch adds the values of a decrypted patch that were encrypted. The others, such as its kind, are not secret.
func (s *secretTexts) addPatch(name string, encrypted, clear []byte) {
	var before, after any
	if sigsyaml.Unmarshal(encrypted, &before) == nil && sigsyaml.Unmarshal(clear, &after) == nil {
		eachDecrypted(before, after, func(value string) { s.note(ofEncrypted+name, value) })
	}
}

// eachDecrypted calls do with each value in after that is encrypted in before.
func eachDecrypted(before, after any, do func(string)) {
	switch before := before.(type) {
	case map[string]any:
		after, _ := after.(map[string]any)
		for key, inner := range before {
			eachDecrypted(inner, after[key], do)
		}
	case []any:
		after, _ := after.([]any)
		for i := range min(len(before), len(after)) {
			eachDecrypted(before[i], after[i], do)
		}
	case string:
		if strings.HasPrefix(before, "ENC[") {
			do(fmt.Sprint(after))
		}
	}
}

// add adds the secret values of a decrypted file.
func (s *secretTexts) add(name string, format sops.Format, text []byte) {
	note := func(value string) { s.note(ofEncrypted+name, value) }
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
			eachString(value, note)
		}
	}
}

// eachString calls do with each string in a value.
func eachString(value any, do func(string)) {
	switch value := value.(type) {
	case map[string]any:
		for _, inner := range value {
			eachString(inner, do)
		}
	case []any:
		for _, inner := range value {
			eachString(inner, do)
		}
	case string:
		do(value)
	}
}

// in returns the secret values in an object. Any built object can contain some, because of replacements.
func (s *secretTexts) in(object []byte) map[string]string {
	if len(s.texts) == 0 {
		return nil
	}
	text := Strings(object)
	if s.finder == nil {
		var pairs []string
		for value := range s.texts {
			pairs = append(pairs, value, "")
		}
		s.finder = strings.NewReplacer(pairs...)
	}
	if s.finder.Replace(text) == text {
		return nil
	}
	out := maps.Clone(s.texts)
	maps.DeleteFunc(out, func(value, _ string) bool { return !strings.Contains(text, value) })
	return out
}

// Strings returns a YAML document, and after it the keys and values in it as they are, because YAML escapes characters
// and folds lines.
func Strings(document []byte) string {
	var value any
	if sigsyaml.Unmarshal(document, &value) != nil {
		return string(document)
	}
	return string(document) + "\n" + fmt.Sprint(value)
}
