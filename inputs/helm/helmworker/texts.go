package helmworker

import (
	"errors"
	"maps"
	"regexp"
	"strconv"
	"strings"
	"text/template"

	"github.com/Masterminds/sprig/v3"
	"sigs.k8s.io/yaml"

	"github.com/agentry-dev/agentry/inputs/helm"
)

// execute executes each text twice, to find those that depend on randomness or the time. Its errors are Failures.
func execute(t helm.Texts, entered func(template string)) ([]string, error) {
	one, other := twoRuns(entered)
	first, second := one.textFunctions(), other.textFunctions()
	out := make([]string, len(t.List))
	for i, text := range t.List {
		entered(text.Name)
		var err error
		var again string
		if out[i], err = executeText(text, t, first); err == nil {
			again, err = executeText(text, t, second)
		}
		if err != nil {
			return nil, textFailure(text, err)
		}
		if again != out[i] {
			return nil, &helm.Failure{Template: text.Name, Reason: "the template depends on randomness or the time"}
		}
	}
	return out, nil
}

func executeText(text helm.Text, t helm.Texts, functions template.FuncMap) (string, error) {
	parsed, err := template.New("text").Funcs(functions).Option(t.Options...).Parse(text.Template)
	if err != nil {
		return "", err
	}
	var out strings.Builder
	err = parsed.Execute(&out, t.Data[text.Data])
	return out.String(), err
}

// textFunctions returns the functions of Argo CD's templates.
func (r *run) textFunctions() template.FuncMap {
	original := sprig.TxtFuncMap()
	out := maps.Clone(original)
	maps.Copy(out, r.random())
	maps.Copy(out, r.times(original))
	for _, name := range []string{"env", "expandenv", "getHostByName"} {
		delete(out, name)
	}
	maps.Copy(out, template.FuncMap{
		"keys": sortedKeys, "values": sortedValues,
		"normalize": helm.Normalize, "slugify": slugify,
		"toYaml": func(value any) (string, error) {
			text, err := yaml.Marshal(value)
			return strings.TrimSuffix(string(text), "\n"), err
		},
		"fromYaml": func(text string) (out map[string]any, err error) {
			return out, yaml.Unmarshal([]byte(text), &out)
		},
		"fromYamlArray": func(text string) (out []any, err error) { return out, yaml.Unmarshal([]byte(text), &out) },
	})
	return out
}

var errSlugify = errors.New("slugify takes a length, whether words are kept whole, and a text")

// slugify turns its last argument into a name. The first argument limits its length, and unless the second one is
// false, the name is cut between words.
func slugify(args ...any) (string, error) {
	longest, whole := 50, true
	if len(args) == 0 || len(args) > 3 {
		return "", errSlugify
	}
	text, ok := args[len(args)-1].(string)
	if len(args) > 1 && ok {
		longest, ok = args[0].(int)
	}
	if len(args) > 2 && ok {
		whole, ok = args[1].(bool)
	}
	if !ok {
		return "", errSlugify
	}
	slug := strings.Join(strings.FieldsFunc(helm.Normalize(text), func(c rune) bool {
		return c == '-' || c == '.'
	}), "-")
	if longest <= 0 || len(slug) <= longest {
		return slug, nil
	}
	if end := strings.LastIndexByte(slug[:longest+1], '-'); whole && end > 0 {
		return slug[:end], nil
	}
	return slug[:longest], nil
}

// textLine matches the position of an error of package text/template.
var textLine = regexp.MustCompile(`^template: text:(\d+)`)

// textFailure says why a template fails, quoting only the template and messages of Go's library.
func textFailure(of helm.Text, err error) *helm.Failure {
	own := &chartText{lines: strings.Split(of.Template, "\n")}
	out := &helm.Failure{Template: of.Name,
		Reason: "the template fails; the reason is not shown because it may quote values"}
	message := err.Error()
	if at := textLine.FindStringSubmatch(message); at != nil {
		out.Line, _ = strconv.Atoi(at[1])
	}
	if _, said, found := strings.Cut(message, "error calling fail: "); found && own.quotable(said) != "" {
		out.Reason = "the template refuses its data: " + own.quotable(said)
		return out
	}
	if reason := own.plainReason(message); reason != "" {
		out.Reason = reason
	}
	return out
}
