package pipeline

import (
	"strings"
	"testing"
)

func TestFormatMessage(t *testing.T) {
	data := sampleMessage(1)
	data.Added = []string{"a/x", "b/y"}
	for template, want := range map[string]string{
		DefaultMessage:                            "0000000: Subject\n",
		`add {{ join .Added ", " }}`:              "add a/x, b/y\n",
		"\n{{ .Pipeline }}\n\nbody\n\n\n":         "sample\n\nbody\n",
		`{{ range .Sources }}{{ .URL }}{{ end }}`: "https://git.example.com/a.git\n",
	} {
		got, err := FormatMessage(template, data)
		if err != nil || got != want {
			t.Errorf("%q gives %q, %v; want %q", template, got, err, want)
		}
	}
}

func TestFormatMessageErrors(t *testing.T) {
	for template, want := range map[string]string{
		`{{ env "HOME" }}`: "not defined",
		`{{ .Now }}`: ".Now: there is no field Now; the fields are Pipeline, Sources, " +
			"Added, Changed, Removed, Held",
		`{{ (index .Sources 0).Ref }}`: "there is no field Ref; the fields are URL, Commit, Subject, Author",
		`{{ .Sources.Commit }}`: ".Sources.Commit: a list has no field Commit; write for example " +
			"(index .Sources 0).Commit",
		`{{ .Pipeline.Name }}`:                 ".Pipeline.Name: a text has no field Name",
		`{{ with .Removed }}x{{ end }}`:        "the message is empty",
		strings.Repeat("x", MaxMessageBytes+1): "longer than",
		`{{ (index .Sources 1).Commit }}`:      "out of range",
	} {
		if got, err := FormatMessage(template, sampleMessage(1)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40q gives %.40q, %v; want an error with %q", template, got, err, want)
		}
	}
	if _, err := FormatMessage(strings.Repeat("x", MaxMessageBytes), sampleMessage(1)); err != nil {
		t.Errorf("at the limit: %v", err)
	}
}
