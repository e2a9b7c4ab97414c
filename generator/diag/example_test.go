package diag_test

import (
	"fmt"
	"os"

	"github.com/agentry-dev/agentry/generator/diag"
)

// A printer writes findings as text, JSON, SARIF or annotations of GitHub.
func ExampleText() {
	found := diag.List{{
		Code: diag.UnknownField, Severity: diag.Error, File: "shop.yaml", Line: 7, Column: 5,
		Object: diag.Object{Kind: "ServiceMonitor", Namespace: "shop", Name: "checkout"},
		Path:   "spec.endpoints[0].intervall", Message: "unknown field", Hint: "did you mean interval?",
	}}
	if err := (diag.Text{}).Print(os.Stdout, found); err != nil {
		fmt.Println(err)
	}
	// Output:
	// shop.yaml:7:5: error[unknown-field]: ServiceMonitor/shop/checkout: spec.endpoints[0].intervall: unknown field
	//   hint: did you mean interval?
}

// The code of a finding is explained as in the manual.
func ExampleLookup() {
	info, _ := diag.Lookup(diag.UnknownField)
	fmt.Println(info.Summary)
	// Output:
	// A field is not in the kind's CRD.
}
