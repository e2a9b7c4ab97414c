package roots

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/fluxcd/pkg/envsubst"
	"github.com/fluxcd/pkg/envsubst/parse"
	"sigs.k8s.io/yaml"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/inputs/kustomizer"
	"github.com/agentry-dev/agentry/internal/lazyregexp"
)

// substituteKey is the label or annotation that, with the value "disabled", excludes an object from substitution.
const substituteKey = "kustomize.toolkit.fluxcd.io/substitute"

// maxExpressions limits the ${...} of one object: the library goes one level deeper for each.
const maxExpressions = 1 << 20

// Variables replace ${NAME} in built objects, with the library that Flux uses.
type Variables struct {
	Values map[string]string
	// Secret names the variables whose values come from Secrets: no message shows them.
	Secret []string
	// Unknown are variables without a known value, with what there is to say of it. They stay as ${NAME}.
	Unknown map[string]string
	// Missing says why a value is unknown if there may be more variables: then every one without a value is unknown.
	Missing string
}

// unknown returns what to say of the value of a variable that is unknown, or "" if it is known or known to be empty.
func (v *Variables) unknown(name string) string {
	if why := v.Unknown[name]; why != "" {
		return why
	}
	if _, known := v.Values[name]; known || !IsVariableName(name) {
		return ""
	}
	return v.Missing
}

// variableName matches the names that Flux accepts for a variable. In a text, ${1} counts too, which has no value.
var variableName = lazyregexp.New(`^[_[:alpha:]][_[:alpha:][:digit:]]*$`)

// IsVariableName reports whether Flux accepts a name for a variable.
func IsVariableName(name string) bool { return variableName.MatchString(name) }

// errTooLarge means that objects are too large after substitution.
var errTooLarge = errors.New("the objects are too large")

// substitute replaces the variables in documents. As in Flux, a variable without a value is replaced by nothing. If the
// documents would be larger than those of a kustomization may be, the error is errTooLarge.
func (v *Variables) substitute(ctx context.Context, docs []manifest.Built,
	blame func(manifest.Built, string) error) ([]manifest.Built, error) {
	out := slices.Clone(docs)
	largest, size := 0, 0
	for _, doc := range docs {
		if bytes.Count(doc.Text, []byte("${")) > maxExpressions {
			return nil, blame(doc, fmt.Sprintf("the object has more than %d variables", maxExpressions))
		}
		if largest += v.maxSize(string(doc.Text)); largest > kustomizer.MaxBytes {
			return nil, errTooLarge
		}
	}
	for i, doc := range docs {
		if err := context.Cause(ctx); err != nil {
			return nil, err
		}
		before := string(doc.Text)
		if !strings.Contains(before, "${") || isSubstitutionDisabled(doc.Text) {
			continue
		}
		v := v.identifying(before)
		text := v.withoutOperators(before)
		secret := maps.Clone(doc.Secret)
		if secret == nil {
			secret = map[string]string{}
		}
		maps.Copy(secret, v.secrets(text))
		unknown := map[string]string{}
		after, err := envsubst.Eval(text, func(name string) (string, bool) {
			if why := v.unknown(name); why != "" {
				unknown[name] = why
				return "${" + name + "}", true
			}
			value := v.Values[name]
			if slices.Contains(v.Secret, name) && value != "" {
				secret[value] = "${" + name + "}"
			}
			return value, true
		})
		if err != nil { // it only quotes the object
			return nil, blame(doc, "a ${...} in the object is not a valid Flux variable")
		}
		if size += kustomizer.SizeOf(after, kustomizer.MaxBytes); size > kustomizer.MaxBytes {
			return nil, errTooLarge
		}
		object, err := yaml.YAMLToJSON([]byte(after))
		if err == nil {
			after, err = asYAML(object)
		}
		if err != nil {
			return nil, blame(doc, "with its variables replaced, the object is not valid YAML")
		}
		out[i].Text, out[i].WithVariables, out[i].Secret = []byte(after), before, secret
		out[i].Unknown = unknown
		out[i].Origin = substitutedOrigin{doc.Origin, before}
	}
	return out, nil
}

var (
	// variableStart is the beginning of an expression, up to the name of its variable.
	variableStart = lazyregexp.New(`\$\{#?([\p{L}\p{Nd}_]+)`)
	// defaultOperator is an operator that changes no value but an empty one.
	defaultOperator = lazyregexp.New(`^:?[-=+?]`)
)

// replaceExpressions replaces the expressions of a text. $$ is text, which Flux reads as a dollar.
func replaceExpressions(text string, by func(string) string) string {
	var out strings.Builder
	for {
		start := strings.IndexByte(text, '$')
		if start < 0 || start+1 == len(text) {
			return out.String() + text
		}
		out.WriteString(text[:start])
		text = text[start:]
		end := 1
		switch text[1] {
		case '{':
			end = expressionEnd(text)
			out.WriteString(by(text[:end]))
		case '$':
			end = 2
			fallthrough
		default:
			out.WriteString(text[:end])
		}
		text = text[end:]
	}
}

// withoutOperators replaces each expression that depends on an unknown variable by that variable alone, as ${NAME}: an
// operator would work on this text as if it were the value.
func (v *Variables) withoutOperators(text string) string {
	if len(v.Unknown) == 0 && v.Missing == "" {
		return text
	}
	return replaceExpressions(text, func(expression string) string {
		if name := v.unknownIn(expression); name != "" {
			return "${" + name + "}"
		}
		return expression
	})
}

// secrets returns what expressions make of values of Secrets, with the variable, as ${NAME}.
func (v *Variables) secrets(text string) map[string]string {
	out := map[string]string{}
	if len(v.Secret) == 0 {
		return out
	}
	replaceExpressions(text, func(expression string) string {
		for _, at := range variableStart.FindAllStringSubmatch(expression, -1) {
			if name := at[1]; slices.Contains(v.Secret, name) && v.Values[name] != "" {
				made, err := envsubst.Eval(expression, func(name string) (string, bool) { return v.Values[name], true })
				if err == nil && made != "" {
					out[made] = "${" + name + "}"
				}
			}
		}
		return expression
	})
	return out
}

// identifying returns v without the variables of Secrets that an object has in its kind, namespace or name: these are
// shown.
func (v *Variables) identifying(object string) *Variables {
	if len(v.Secret) == 0 {
		return v
	}
	var raw map[string]any
	if yaml.Unmarshal([]byte(object), &raw) != nil {
		return v
	}
	var texts []string
	note := func(fields map[string]any, names ...string) {
		for key, value := range fields {
			if isNamed := slices.Contains(names, key); isNamed || strings.Contains(key, "${") {
				texts = append(texts, key, fmt.Sprint(value))
			}
		}
	}
	note(raw, "apiVersion", "kind")
	metadata, isMap := raw["metadata"].(map[string]any)
	if note(metadata, "namespace", "name"); !isMap {
		texts = append(texts, fmt.Sprint(raw["metadata"]))
	}
	var names []string
	for _, at := range variableStart.FindAllStringSubmatch(strings.Join(texts, "\n"), -1) {
		if slices.Contains(v.Secret, at[1]) {
			names = append(names, at[1])
		}
	}
	if len(names) == 0 {
		return v
	}
	return new(v.WithUnknown(names, secretIdentity))
}

// secretIdentity is why a variable of a Secret has no value in an object.
const secretIdentity = "is a Secret's: no kind, namespace or name of an object may hold it, because these are shown"

// expressionEnd returns the end of the expression that a text begins with. Expressions can be nested.
func expressionEnd(text string) int {
	depth := 0
	for i := range len(text) {
		switch {
		case strings.HasPrefix(text[i:], "${"):
			depth++
		case text[i] != '}':
		case depth == 1:
			return i + 1
		default:
			depth--
		}
	}
	return len(text)
}

// unknownIn returns the unknown variable that an expression depends on, or "". A default does not matter if the
// variable has a value.
func (v *Variables) unknownIn(expression string) string {
	for i, at := range variableStart.FindAllStringSubmatchIndex(expression, -1) {
		name := expression[at[2]:at[3]]
		if v.unknown(name) != "" {
			return name
		}
		if i == 0 && v.Values[name] != "" && defaultOperator.MatchString(expression[at[1]:]) {
			break
		}
	}
	return ""
}

func asYAML(object []byte) (string, error) {
	text, err := yaml.JSONToYAML(object)
	if err == nil && !strings.Contains(string(object), "{") {
		err = errors.New("not an object")
	}
	return string(text), err
}

// maxSize returns an upper bound of the size of a text after substitution, without what aliases repeat. Any size above
// [kustomizer.MaxBytes] is too large.
func (v *Variables) maxSize(text string) int {
	if !strings.Contains(text, "${") || isSubstitutionDisabled([]byte(text)) {
		return len(text)
	}
	parsed, err := parse.Parse(text)
	if err != nil {
		return len(text) // substitution reports it
	}
	return v.maxSizeOf(parsed.Root)
}

func (v *Variables) maxSizeOf(node parse.Node) int {
	size := 0
	switch node := node.(type) {
	case *parse.TextNode:
		return len(node.Value)
	case *parse.ListNode:
		for _, inner := range node.Nodes {
			size += v.maxSizeOf(inner)
		}
	case *parse.FuncNode:
		for _, arg := range node.Args {
			size += v.maxSizeOf(arg)
		}
		value := len(v.Values[node.Param])
		if strings.HasPrefix(node.Name, "/") { // each part of the value can be replaced by the argument
			size *= value + 1
		}
		size += value
	}
	return min(size, kustomizer.MaxBytes+1)
}

// isSubstitutionDisabled reports whether an object is excluded from substitution.
func isSubstitutionDisabled(text []byte) bool { return isMarked(text, substituteKey, "disabled") }

// isUnmanaged reports whether an annotation tells Flux not to apply an object.
func isUnmanaged(doc manifest.Built) bool {
	return isMarked(doc.Text, "kustomize.toolkit.fluxcd.io/reconcile", "disabled") ||
		isMarked(doc.Text, "kustomize.toolkit.fluxcd.io/ssa", "Ignore")
}

// isMarked reports whether an object has a label or annotation with a value.
func isMarked(text []byte, key, value string) bool {
	var object struct {
		Metadata struct{ Labels, Annotations map[string]any }
	}
	if !bytes.Contains(text, []byte(key)) || yaml.Unmarshal(text, &object) != nil {
		return false
	}
	return object.Metadata.Labels[key] == value || object.Metadata.Annotations[key] == value
}

// substitutedOrigin finds the fields of an object after substitution in the text before it.
type substitutedOrigin struct {
	manifest.Origin
	before string
}

// Find implements [manifest.Origin].
func (o substitutedOrigin) Find(_, path string) (file string, line, column int) {
	return o.Origin.Find(o.before, path)
}

// substitute replaces the root's variables in the built documents.
func (r Root) substitute(ctx context.Context, docs []manifest.Built) ([]manifest.Built, error) {
	out, err := r.Variables.substitute(ctx, docs, func(doc manifest.Built, message string) error {
		d := diag.BuildFailed.At("", "%s", message).
			WithHint(fmt.Sprintf("correct it, write $${ for a literal ${, or annotate the object with %s: disabled",
				substituteKey))
		d.File, d.Line, d.Column = doc.Origin.Find(string(doc.Text), "")
		return &d
	})
	if errors.Is(err, errTooLarge) {
		return nil, r.place(diag.BuildRefused.At(r.RequestedBy.field("postBuild"),
			"with their variables replaced, the objects have more than %d MiB", kustomizer.MaxBytes>>20).
			WithHint("use variables with long values in fewer places, or split the folder"))
	}
	return out, err
}

// WithUnknown returns v with variables whose values are not known, and what there is to say of these.
func (v Variables) WithUnknown(names []string, why string) Variables {
	out := v.Over(nil, false)
	if out.Unknown == nil {
		out.Unknown = map[string]string{}
	}
	for _, name := range names {
		delete(out.Values, name)
		out.Unknown[name] = why
	}
	return out
}

// Over returns v with values added, which take precedence. isSecret says whether they come from Secrets.
func (v Variables) Over(values map[string]string, isSecret bool) Variables {
	out := Variables{Values: maps.Clone(v.Values), Unknown: maps.Clone(v.Unknown), Missing: v.Missing}
	if out.Values == nil {
		out.Values = map[string]string{}
	}
	maps.Copy(out.Values, values)
	maps.DeleteFunc(out.Unknown, func(name, _ string) bool { _, replaced := values[name]; return replaced })
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
