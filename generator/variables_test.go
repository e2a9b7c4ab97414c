package generator_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/agentry-dev/agentry/generator/model"
	"github.com/agentry-dev/agentry/generator/runtimes/agent"
	"github.com/agentry-dev/agentry/generator/runtimes/alloy"
)

// references fills all texts of a value: those in which variables are expanded with ${VAR<n>}, values of Secrets with
// ${SECRET<n>}.
type references struct{ texts, secrets int }

func (r *references) text() string {
	r.texts++
	return fmt.Sprintf("${VAR%d}", r.texts)
}

func (r *references) fill(v reflect.Value) {
	switch at := v.Addr().Interface().(type) {
	case *model.String:
		*at = model.String(r.text())
	case *model.Text:
		*at = model.Expanded(r.text())
	case *model.Expandable:
		*at = model.Expandable{"a": r.text()}
	case *map[string]model.Text:
		*at = map[string]model.Text{"a": model.Expanded(r.text())}
	case *model.Secret:
		r.secrets++
		*at = model.Secret{Value: fmt.Sprintf("${SECRET%d}", r.secrets), Set: true}
	case *[]*model.Relabel:
	default:
		switch v.Kind() {
		case reflect.Struct:
			for i := range v.NumField() {
				r.fill(v.Field(i))
			}
		case reflect.Pointer:
			v.Set(reflect.New(v.Type().Elem()))
			r.fill(v.Elem())
		case reflect.Slice:
			v.Set(reflect.MakeSlice(v.Type(), 1, 1))
			r.fill(v.Index(0))
		}
	}
}

// TestVariablesOfWriters: both runtimes expand the variables in every text of a writer or client, and in no value of a
// Secret.
func TestVariablesOfWriters(t *testing.T) {
	var w model.RemoteWrite
	var c model.LogsClient
	var r references
	r.fill(reflect.ValueOf(&w).Elem())
	r.fill(reflect.ValueOf(&c).Elem())
	onlyInAlloy := map[string]bool{
		string(w.SigV4.ExternalID): true, string(w.AzureAD.Scope): true, string(w.AzureAD.SDK.TenantID): true,
		string(w.AzureAD.WorkloadIdentity.ClientID): true, string(w.AzureAD.WorkloadIdentity.TenantID): true,
	}
	config := &model.Config{
		Metrics: &model.Metrics{Configs: []model.Instance{{Name: "m/i", RemoteWrite: []model.RemoteWrite{w}}}},
		Logs:    &model.Logs{Configs: []model.LogsInstance{{Name: "m/l", Clients: []model.LogsClient{c}}}},
	}
	for name, text := range map[string]string{"agent": agent.Print(config).String(),
		"Alloy": alloy.Print(config).String()} {
		for i := range r.texts {
			marker := fmt.Sprintf(`"${VAR%d}"`, i+1)
			if name == "Alloy" {
				marker = fmt.Sprintf(`sys.env("VAR%d")`, i+1)
			}
			if isLacking := name == "agent" && onlyInAlloy[strings.Trim(marker, `"`)]; strings.Contains(text, marker) ==
				isLacking {
				t.Errorf("%s: %s is missing, or is what the agent does not have:\n%s", name, marker, text)
			}
		}
		for i := range r.secrets {
			if marker := fmt.Sprintf(`sys.env("SECRET%d")`, i+1); strings.Contains(text, marker) {
				t.Errorf("%s: the value of a Secret is expanded: %s", name, marker)
			}
			if marker := fmt.Sprintf(`"${SECRET%d}"`, i+1); name == "agent" && strings.Contains(text, marker) {
				t.Errorf("%s: the value of a Secret would be expanded: %s", name, marker)
			}
		}
	}
}
