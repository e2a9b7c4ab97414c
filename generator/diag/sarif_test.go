package diag

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// TestSARIFIsValid holds logs to the schema of the standard, which OASIS publishes.
func TestSARIFIsValid(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("testdata", "sarif-schema-2.1.0.json"))
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	compiler.AssertFormat()
	if err := compiler.AddResource("sarif.json", parsed); err != nil {
		t.Fatal(err)
	}
	schema, err := compiler.Compile("sarif.json")
	if err != nil {
		t.Fatal(err)
	}
	everyCode := List{}
	for _, c := range Codes() {
		everyCode = append(everyCode, Diagnostic{Severity: Warning, Code: c.Code, Message: "m", File: "a b.yaml",
			Line: 1})
	}
	for name, list := range map[string]List{"nothing": nil, "every shape": report(), "every code": everyCode} {
		var b strings.Builder
		if err := (SARIF{}).Print(&b, list); err != nil {
			t.Fatal(err)
		}
		value, err := jsonschema.UnmarshalJSON(strings.NewReader(b.String()))
		if err != nil {
			t.Fatal(err)
		}
		if err := schema.Validate(value); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestSARIFFingerprintsStay: a finding that moves to another line is the same one.
func TestSARIFFingerprintsStay(t *testing.T) {
	d := report()[0]
	moved, other := d, d
	moved.Line, moved.Column = 40, 1
	other.Message = "another one"
	of := func(d Diagnostic) string { return newSarifResult(d, d.Problem()).Fingerprints["agentry/v1"] }
	if of(d) != of(moved) || of(d) == of(other) {
		t.Error("a fingerprint follows the line, or does not follow the message")
	}
}
