package sopsworker

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/getsops/sops/v3/config"

	"github.com/agentry-dev/agentry/inputs/sops"
)

const creationRules = `
creation_rules:
  - path_regex: ^prod/.*\.secret\.yaml$
    encrypted_regex: ^(data|stringData)$
    age: age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kg5sfn9aqmcac8p, age1qqpqf6hrfxy4qvk9xu6gqsvhkmjqgkj2jx3hkm4ahnnqvq0t3ydq0hqlxs
    pgp: 0123456789ABCDEF0123456789ABCDEF01234567
  - path_regex: test
    age:
      - age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kg5sfn9aqmcac8p
    kms: arn:aws:kms:eu-west-1:123456789012:key/a, arn:aws:kms:eu-west-1:123456789012:key/b
    gcp_kms: projects/p/locations/l/keyRings/r/cryptoKeys/k
    azure_keyvault: https://v.vault.azure.net/keys/k/0
    hc_vault_transit_uri: https://vault.example.com/v1/transit/keys/k
  - pgp: 76543210FEDCBA9876543210FEDCBA9876543210
`

// TestRulesAreThoseOfSOPS asks SOPS's library which recipients a path has.
func TestRulesAreThoseOfSOPS(t *testing.T) {
	folder := t.TempDir()
	name := filepath.Join(folder, ".sops.yaml")
	// One recipient of testdata is enough: the library checks each.
	text := strings.Replace(creationRules, ", age1qqpqf6hrfxy4qvk9xu6gqsvhkmjqgkj2jx3hkm4ahnnqvq0t3ydq0hqlxs", ",", 1)
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	rules, err := sops.ParseRules([]byte(text))
	if err != nil || len(rules.All()) != 3 {
		t.Fatalf("got %v, %v", rules, err)
	}
	for _, path := range []string{"prod/a/b.secret.yaml", "prod/a/b.yaml", "test/x", "x/test/prod/y.secret.yaml",
		"other"} {
		theirs, err := config.LoadCreationRuleForFile(name, filepath.Join(folder, path), nil)
		if err != nil {
			t.Fatal(err)
		}
		to, ok := rules.For(path)
		group, err := groupOf(to)
		if err != nil || !ok || len(theirs.KeyGroups) != 1 {
			t.Fatalf("%s: %v, %t", path, err, ok)
		}
		var got, want []string
		for _, k := range group {
			got = append(got, k.ToString())
		}
		for _, k := range theirs.KeyGroups[0] {
			want = append(want, k.ToString())
		}
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("%s: got %v, want %v", path, got, want)
		}
	}
	if _, ok := rules[:2].For("other"); ok {
		t.Error("a path without a rule has recipients")
	}
}

// TestBadRules: an error names the rule, and quotes no key.
func TestBadRules(t *testing.T) {
	for text, want := range map[string]string{
		"":                                      "has no creation_rules",
		"creation_rules: {a: hunter2}":          "is not valid YAML with creation_rules",
		"creation_rules: [{age: {a: hunter2}}]": "is not valid YAML with creation_rules",
		"creation_rules: [{pgp: ''}]":           "creation_rules[0] has no recipient",
		"creation_rules: [{pgp: a}, {path_regex: '(hunter2', pgp: a}]": "creation_rules[1].path_regex is not a valid " +
			"regular " +
			"expression",
		"creation_rules: [{pgp: a, key_groups: [{age: [hunter2]}]}]": "creation_rules[0] has key_groups",
		"creation_rules: [{pgp: a, shamir_threshold: 2}]":            "list the recipients in age",
		"creation_rules: [{kms: a, aws_profile: hunter2}]":           "which agentry does not support",
	} {
		_, err := sops.ParseRules([]byte(text))
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%q: got %v", text, err)
		}
	}
}
