package sops

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/agentry-dev/agentry/internal/expression"
)

// Rules are the creation rules of a .sops.yaml file.
type Rules []rule

// rule names the recipients of the files that match a pattern.
type rule struct {
	pattern *regexp.Regexp // nil matches every path
	to      Recipients
}

// creationRule has the fields of a rule that are read. Fields that select what to encrypt in a file are ignored,
// because agentry always encrypts exactly the values of a Secret.
type creationRule struct {
	PathRegex string `json:"path_regex"`
	Age       list   `json:"age"`
	PGP       list   `json:"pgp"`
	KMS       list   `json:"kms"`
	GCPKMS    list   `json:"gcp_kms"`
	Azure     list   `json:"azure_keyvault"`
	Vault     list   `json:"hc_vault_transit_uri"`

	// These change who can decrypt, and are not supported.
	AWSProfile string `json:"aws_profile"`
	HCKMS      list   `json:"hckms"`
	KeyGroups  []any  `json:"key_groups"`
	Threshold  int    `json:"shamir_threshold"`
}

// list is a list of strings, or a comma-separated string.
type list []string

// UnmarshalJSON reads both forms.
func (l *list) UnmarshalJSON(data []byte) error {
	var texts []string
	if err := yaml.Unmarshal(data, &texts); err != nil {
		var text string
		if yaml.Unmarshal(data, &text) != nil {
			return errors.New("recipients must be a string or a list of strings")
		}
		texts = []string{text}
	}
	for _, text := range texts {
		for one := range strings.SplitSeq(text, ",") {
			if one = strings.TrimSpace(one); one != "" {
				*l = append(*l, one)
			}
		}
	}
	return nil
}

// ParseRules reads a .sops.yaml file. Errors quote no recipient: somebody may have written a private key there.
func ParseRules(text []byte) (out Rules, err error) {
	var file struct {
		Rules []creationRule `json:"creation_rules"`
	}
	if err := yaml.Unmarshal(text, &file); err != nil {
		return nil, errors.New(
			"is not valid YAML with creation_rules whose recipients are strings or lists of strings")
	}
	if len(file.Rules) == 0 {
		return nil, errors.New("has no creation_rules")
	}
	for i, r := range file.Rules {
		at := fmt.Sprintf("creation_rules[%d]", i)
		if len(r.KeyGroups) > 0 || r.Threshold != 0 || r.AWSProfile != "" || len(r.HCKMS) > 0 {
			return nil, fmt.Errorf(
				"%s has key_groups, shamir_threshold, aws_profile or hckms, which agentry does not support: list "+
					"the recipients in age, pgp, kms, gcp_kms, azure_keyvault or hc_vault_transit_uri", at)
		}
		parsed := rule{to: Recipients{Age: r.Age, PGP: r.PGP, KMS: r.KMS, GCPKMS: r.GCPKMS, AzureKeyVault: r.Azure,
			Vault: r.Vault}}
		if parsed.to.IsEmpty() {
			return nil, fmt.Errorf("%s has no recipient", at)
		}
		if r.PathRegex != "" {
			if parsed.pattern, err = expression.Compile(r.PathRegex); err != nil {
				return nil, fmt.Errorf("%s.path_regex is not a valid regular expression", at)
			}
		}
		out = append(out, parsed)
	}
	return out, nil
}

// All returns the recipients of each rule.
func (r Rules) All() (out []Recipients) {
	for _, one := range r {
		out = append(out, one.to)
	}
	return out
}

// For returns the recipients of the first rule that matches a path, as in SOPS. ok is false if none matches.
func (r Rules) For(path string) (to Recipients, ok bool) {
	for _, one := range r {
		if one.pattern == nil || one.pattern.MatchString(path) {
			return one.to, true
		}
	}
	return to, false
}
