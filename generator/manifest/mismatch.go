package manifest

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/agentry-dev/agentry/generator/api/v1alpha1"
	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/internal/stagehint"
	"github.com/agentry-dev/agentry/internal/lazyregexp"
)

// typeWords are the names of a schema's types in messages.
var typeWords = map[string]string{
	"object": "a mapping", "array": "a list", "string": "a string", "boolean": "true or false", "number": "a number",
	"integer": "a whole number", "int32": "a whole number", "int64": "a whole number", "null": "null",
}

// TypeInWords returns the name that messages use for a type of JSON Schema, such as array, or "".
func TypeInWords(name string) string { return typeWords[name] }

// mistypedPaths returns the paths of the values with a wrong type.
func mistypedPaths(errs field.ErrorList) map[string]bool {
	paths := map[string]bool{}
	for _, err := range errs {
		if err.Type == field.ErrorTypeTypeInvalid {
			paths[err.Field] = true
		}
	}
	return paths
}

// repeatsMismatch reports whether an error only repeats that a value has the wrong type, as that it is none of several
// types.
func repeatsMismatch(err *field.Error, mistyped map[string]bool) bool {
	path, ok := strings.CutSuffix(err.Detail, `" must validate at least one schema (anyOf)`)
	return ok && mistyped[strings.TrimPrefix(path, `"`)]
}

// mismatch rewrites Kubernetes' message about a value of the wrong type, and says how to write the value.
func (w rawObject) mismatch(path, message string) (words, hint string) {
	types, got, _ := strings.Cut(strings.TrimPrefix(message, "must be of type "), ": ")
	value := lookup(w.raw, path)
	is := typeName(value)
	if is == "null" {
		if word := typeWords[strings.Trim(got, `"`)]; word != "" {
			is = word
		}
	}
	var wanted []string
	for want := range strings.SplitSeq(types, ",") {
		word := typeWords[want]
		switch number, isFloat := value.(float64); {
		case word == "":
			word = "of type " + want
		case word != "a whole number" || !isFloat:
		case number == math.Trunc(number):
			is = "a number that is too large"
		default:
			is = "a number with a fraction"
		}
		wanted = append(wanted, word)
	}
	return "must be " + strings.Join(wanted, " or ") + ", is " + is, w.typeHint(path, types, value)
}

// outOfRange rewrites Kubernetes' message about a number.
func outOfRange(message string) string {
	if message == "must be of type integer with format int32" {
		return fmt.Sprintf("must be a whole number from %d to %d", math.MinInt32, math.MaxInt32)
	}
	return message
}

// keyForm shows how to write a reference to a key of a Secret or ConfigMap.
const keyForm = "{name: ..., key: ...}"

var (
	keyPattern    = lazyregexp.New(`^spec\.(secrets|configMaps)\[[0-9]+\]$`)
	nestedPattern = lazyregexp.New(stageForm + `\.match\.stages$`)
)

// typeHint says how to write a value that has none of the wanted types.
func (w rawObject) typeHint(path, types string, value any) string {
	text, isText := value.(string)
	switch kind := w.kind; {
	case kind == v1alpha1.IntegrationKind && keyPattern.MatchString(path):
		return "write " + keyForm
	case kind == v1alpha1.PodLogsKind && nestedPattern.MatchString(path):
		return `the stages are YAML in a string: write "stages: |" and indent them below it`
	case kind == v1alpha1.PodLogsKind && isText && stagePattern.FindString(path) == path:
		return stagehint.Of(text, stageNames(w.schema))
	}
	switch types {
	case "array":
		return diag.WriteList
	case "object":
		return w.mappingHint(path, value)
	}
	return w.scalarHint(path, types, value)
}

// withoutSpace matches a key and a value without a space between them, which YAML reads as one text.
var withoutSpace = lazyregexp.New(`^[A-Za-z_]\w*:[^\s/]`)

// mappingHint says how to write a mapping.
func (w rawObject) mappingHint(path string, value any) string {
	switch value := value.(type) {
	case []any:
		if len(value) != 1 {
			break
		}
		if _, isMapping := value[0].(map[string]any); isMapping {
			return "write the item itself, not a list of it"
		}
	case string:
		if _, node, found := w.at.find(path); found && resolved(node).Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0 {
			return "write the lines as YAML, without the | or > before them"
		}
		if withoutSpace.MatchString(value) {
			return "write it on a line of its own, with a space behind the colon"
		}
	}
	fields := w.schema.Siblings(path + ".x")
	if slices.Contains(fields, "key") && slices.Contains(fields, "name") {
		return "write " + keyForm
	}
	return diag.Fields(fields)
}

// maxQuoted is the longest value, in bytes, that a message quotes.
const maxQuoted = 100

// scalarHint says how to write a scalar that YAML reads as another type.
func (w rawObject) scalarHint(path, types string, value any) string {
	_, node, found := w.at.find(path)
	if !found || node.Kind == yaml.AliasNode || len(node.Value) > maxQuoted {
		return ""
	}
	written := node.Value
	switch value.(type) {
	case bool, int64, float64:
		if strings.Contains(types, "string") {
			return w.textHint(path, written)
		}
	case string:
		if node.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle) != 0 && fitsType(written, types) {
			return "remove the quotes"
		}
	}
	return ""
}

var (
	// portPattern matches the fields that name a port of a Service or of a container.
	portPattern = lazyregexp.New(`^spec\.(endpoints|podMetricsEndpoints)\[[0-9]+\]\.port$`)
	// durationPattern matches the names of fields that hold a duration.
	durationPattern = lazyregexp.New(`(?i)(interval|timeout|frequency|time|deadline|backoff|period|olderThan)$`)
	wholePattern    = lazyregexp.New(`^[0-9]+$`)
)

// textHint says how to write a number or boolean where a string is wanted, so that the string is right as well.
func (w rawObject) textHint(path, written string) string {
	if !diag.MayQuote(path, written) {
		return "put it into quotes"
	}
	isWhole := wholePattern.MatchString(written)
	if isWhole && portPattern.MatchString(path) {
		return "write the port's name, or targetPort: " + written
	}
	text := w.schema.Text(path)
	switch fits, err := regexp.MatchString(text.Pattern, written); {
	case durationPattern.MatchString(path) && isWhole:
		return "write it with its unit: " + written + "s"
	case durationPattern.MatchString(path):
		return durationHint
	case err == nil && !fits && formOf(text.Pattern).hint != "":
		return formOf(text.Pattern).hint
	case len(text.Values) > 0 && !slices.Contains(text.Values, written):
		return oneOf(written, text.Values)
	}
	return fmt.Sprintf(quoteHint+": %q", written)
}

const durationHint = "write a duration such as 30s or 1m30s"

// form describes in words a rule that the CRDs express by a regular expression.
type form struct{ must, hint string }

// formOf recognises the regular expressions of the CRDs, by parts that only they have. It returns nothing for others.
func formOf(pattern string) form {
	for part, f := range map[string]form{
		"([0-9]+)ms)?)$":       {"is not a duration", durationHint},
		"|µs|ms|":              {"is not a duration", durationHint},
		"[numkMGTPE]":          {"is not a quantity", "write a quantity such as 500m or 128Mi"},
		"(K|M|G|T|E|P)i?)?B)$": {"is not a size", "write a size such as 64MB"},
		"^[a-zA-Z_][a-zA-Z0-9": {"is not the name of a label",
			"use letters, digits and _, and no digit at the beginning"},
		"^(http|https)://": {"must be an address that begins with http:// or https://", ""},
		"^https?://":       {"must be an address that begins with http:// or https://", ""},
		"^[a-zA-Z][a-zA-Z0-9+": {"must be an address that begins with a scheme, such as unix:///var/run/docker.sock",
			""},
		"(json|yml|yaml|JSON|": {
			"must be a file that ends with .json, .yml or .yaml; only its name may have a *, and only one", ""},
		"^[0-9a-zA-Z-.]+$":     {"must have letters, digits, - and . only", ""},
		`^[\w\s:/.`:            {`must have letters, digits, spaces and _ : / . \ - only`, ""},
		"^(http|https|socks5)": {"must be an address that begins with http://, https:// or socks5://", ""},
	} {
		if strings.Contains(pattern, part) {
			return f
		}
	}
	return form{}
}

// fitsType reports whether a text without quotes has a type.
func fitsType(text, types string) bool {
	switch types {
	case "boolean":
		switch strings.ToLower(text) {
		case "true", "false", "yes", "no", "on", "off":
			return true
		}
		return false
	case "integer":
		_, err := strconv.ParseInt(text, 10, 64)
		return err == nil
	case "number":
		_, err := strconv.ParseFloat(text, 64)
		return err == nil
	}
	return false
}
