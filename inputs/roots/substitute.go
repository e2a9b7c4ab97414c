package roots

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/fluxcd/pkg/envsubst"
	"sigs.k8s.io/yaml"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/manifest"
)

// substituteKey is the label or annotation of objects in which nothing is substituted, if its value is disabled.
const substituteKey = "kustomize.toolkit.fluxcd.io/substitute"

// maxSubstituted limits the size of one object whose variables are replaced.
const maxSubstituted = 64 << 20

// Variables replace ${NAME} in what is built, by the library that Flux uses.
type Variables struct {
	Values map[string]string
	// Secret are the names of variables whose values come from Secrets: no message shows them.
	Secret []string
}

// in replaces the variables in documents. A variable without a value is replaced by nothing, as Flux does.
func (v *Variables) in(docs []manifest.Built, blame func(manifest.Built, string) error) ([]manifest.Built, error) {
	out := slices.Clone(docs)
	for i, doc := range docs {
		text := string(doc.Text)
		if !strings.Contains(text, "${") || keepsText(doc.Text) {
			continue
		}
		if v.grown(text) > maxSubstituted {
			return nil, blame(doc, "with its variables replaced, the object would be too large")
		}
		secret := maps.Clone(doc.Secret)
		if secret == nil {
			secret = map[string]string{}
		}
		after, err := envsubst.Eval(text, func(name string) (string, bool) {
			value := v.Values[name]
			if slices.Contains(v.Secret, name) && value != "" {
				secret[value] = "${" + name + "}"
			}
			return value, true
		})
		if err != nil { // its text quotes the object, and says no more
			return nil, blame(doc, "a ${...} in the object is no variable of Flux")
		}
		object, err := yaml.YAMLToJSON([]byte(after))
		if err == nil {
			after, err = asYAML(object)
		}
		if err != nil {
			return nil, blame(doc, "with its variables replaced, the object is not valid YAML")
		}
		out[i].Text, out[i].WithVariables, out[i].Origin, out[i].Secret = []byte(after), text, before{doc.Origin, text},
			secret
	}
	return out, nil
}

func asYAML(object []byte) (string, error) {
	text, err := yaml.JSONToYAML(object)
	if err == nil && !strings.Contains(string(object), "{") {
		err = errors.New("no object")
	}
	return string(text), err
}

// grown returns an upper bound of the size of a text with its variables replaced. Expressions can be nested: each level
// can put a value in the place of every character of the one below.
func (v *Variables) grown(text string) int {
	longest := 1
	for name, value := range v.Values {
		if strings.Contains(text, name) {
			longest = max(longest, len(value))
		}
	}
	depth, deepest := 0, 1
	for i := range len(text) {
		switch {
		case strings.HasPrefix(text[i:], "${"):
			depth++
			deepest = max(deepest, depth)
		case text[i] == '}' && depth > 0:
			depth--
		}
	}
	grown := len(text)
	for range deepest {
		if grown *= longest; grown > maxSubstituted {
			break
		}
	}
	return grown
}

// keepsText reports whether nothing is replaced in an object.
func keepsText(text []byte) bool { return isMarked(text, substituteKey, "disabled") }

// isUnmanaged reports whether an object is annotated so that Flux does not apply it.
func isUnmanaged(doc manifest.Built) bool {
	return isMarked(doc.Text, "kustomize.toolkit.fluxcd.io/reconcile", "disabled") ||
		isMarked(doc.Text, "kustomize.toolkit.fluxcd.io/ssa", "Ignore")
}

// isMarked reports whether an object has a label or an annotation.
func isMarked(text []byte, key, value string) bool {
	var object struct {
		Metadata struct{ Labels, Annotations map[string]any }
	}
	if !bytes.Contains(text, []byte(key)) || yaml.Unmarshal(text, &object) != nil {
		return false
	}
	return object.Metadata.Labels[key] == value || object.Metadata.Annotations[key] == value
}

// before is the origin of an object whose variables are replaced: fields are where they were before.
type before struct {
	manifest.Origin
	text string
}

// Find implements [manifest.Origin].
func (b before) Find(_, path string) (file string, line, column int) {
	return b.Origin.Find(b.text, path)
}

// substitute replaces the root's variables in what was built.
func (r Root) substitute(docs []manifest.Built) ([]manifest.Built, error) {
	return r.Variables.in(docs, func(doc manifest.Built, message string) error {
		d := diag.BuildFailed.At("", "%s", message).
			WithHint(fmt.Sprintf("correct it, write $${ for the text ${, or annotate the object with %s: disabled",
				substituteKey))
		d.File, d.Line, d.Column = doc.Origin.Find(string(doc.Text), "")
		return &d
	})
}

// Over returns the variables of both, those of the argument over these.
func (v Variables) Over(values map[string]string, isSecret bool) Variables {
	out := Variables{Values: maps.Clone(v.Values)}
	if out.Values == nil {
		out.Values = map[string]string{}
	}
	maps.Copy(out.Values, values)
	for _, name := range v.Secret {
		if _, replaced := values[name]; !replaced {
			out.Secret = append(out.Secret, name)
		}
	}
	if isSecret {
		out.Secret = append(out.Secret, slices.Sorted(maps.Keys(values))...)
	}
	return out
}
