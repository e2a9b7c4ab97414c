package diag

import (
	"fmt"
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
)

// LabelName checks a name that must be a DNS label, such as the name of a namespace. It returns nothing for a valid
// name; otherwise it describes the problem and may suggest another name.
func LabelName(name string) (problem, hint string) {
	if len(validation.IsDNS1123Label(name)) == 0 {
		return "", ""
	}
	return nameProblem(name, "-", "digits and hyphens", validation.DNS1123LabelMaxLength)
}

// SubdomainName is like [LabelName] for a name that may have dots, as the names of most objects may.
func SubdomainName(name string) (problem, hint string) {
	if len(validation.IsDNS1123Subdomain(name)) == 0 {
		return "", ""
	}
	return nameProblem(name, "-.", "digits, hyphens and dots", validation.DNS1123SubdomainMaxLength)
}

var (
	notInName = regexp.MustCompile(`[^-.a-z0-9]+`)
	// loneDots matches dots that have no letter or digit on both sides.
	loneDots = regexp.MustCompile(`-*\.[-.]*`)
)

func nameProblem(name, marks, inWords string, most int) (problem, hint string) {
	problem = fmt.Sprintf("must consist of lower-case letters, %s, and begin and end with a letter or a digit", inWords)
	switch {
	case name == "":
		return "must not be empty", ""
	case len(name) > most:
		problem = fmt.Sprintf("must have at most %d characters", most)
	}
	better := loneDots.ReplaceAllString(notInName.ReplaceAllString(strings.ToLower(name), "-"), ".")
	if !strings.Contains(marks, ".") {
		better = strings.ReplaceAll(better, ".", "-")
	}
	better = strings.Trim(better[:min(len(better), most)], "-.")
	if better == "" || strings.Contains(name, "$") { // a variable that nothing has replaced
		return problem, ""
	}
	return problem, "did you mean " + better + "?"
}

// NameRule shortens Kubernetes' message about an invalid name, label or key to the rule: examples and a regular
// expression follow it.
func NameRule(message string) string {
	rule, _, _ := strings.Cut(message, " (e.g. ")
	return rule
}
