package helmworker

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	chart "helm.sh/helm/v4/pkg/chart/v2"

	"github.com/agentry-dev/agentry/inputs/helm"
)

// validate checks values against the schemas of a chart and its subcharts. Helm's own check would quote values and
// load other schemas from files and the network.
func validate(c *chart.Chart, values map[string]any) error {
	if len(c.Schema) > 0 {
		if err := validateOne(c, values); err != nil {
			return err
		}
	}
	for _, sub := range c.Dependencies() {
		if under, ok := values[sub.Name()].(map[string]any); ok {
			if err := validate(sub, under); err != nil {
				return err
			}
		}
	}
	return nil
}

func validateOne(c *chart.Chart, values map[string]any) error {
	const name = "values.schema.json"
	failure := func(format string, args ...any) error {
		return &helm.Failure{Template: helm.InChart(c.ChartFullPath() + "/" + name),
			Reason: fmt.Sprintf(format, args...)}
	}
	schema, err := jsonschema.UnmarshalJSON(bytes.NewReader(c.Schema))
	if err != nil {
		return failure("the schema is not JSON")
	}
	compiler := jsonschema.NewCompiler()
	compiler.UseLoader(noLoader{})
	const at = "file:///" + name
	if err := compiler.AddResource(at, schema); err != nil {
		return failure("the schema cannot be read")
	}
	validator, err := compiler.Compile(at)
	if _, remote := errors.AsType[*jsonschema.LoadURLError](err); remote {
		return nil // skip a schema that needs remote ones: it does not change the output
	}
	if err != nil {
		return failure("the schema is not a valid JSON schema")
	}
	invalid, ok := errors.AsType[*jsonschema.ValidationError](validator.Validate(values))
	if !ok {
		return nil
	}
	broken := leaves(invalid)
	slices.Sort(broken)
	return failure("the values violate the chart's schema: %s", strings.Join(slices.Compact(broken), ", "))
}

// leaves returns the names of the values that a schema refuses, each with the violated rule but without the value.
func leaves(e *jsonschema.ValidationError) []string {
	if len(e.Causes) == 0 {
		rule := strings.Join(e.ErrorKind.KeywordPath(), "/")
		return []string{fmt.Sprintf("%s (%s)", strings.Join(append([]string{"values"}, e.InstanceLocation...), "."),
			rule)}
	}
	var out []string
	for _, cause := range e.Causes {
		out = append(out, leaves(cause)...)
	}
	return out
}

// noLoader refuses to load schemas.
type noLoader struct{}

// Load implements jsonschema.URLLoader.
func (noLoader) Load(string) (any, error) { return nil, errors.New("other schemas are not loaded") }
