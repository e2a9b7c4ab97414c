package workload

import (
	"bytes"
	"strings"
	"testing"

	"github.com/agentry-dev/agentry/generator/model"
	"github.com/agentry-dev/agentry/generator/runtimes/agent"
	"github.com/agentry-dev/agentry/generator/secretref"
)

// withDSN returns a configuration of integrations with a credential, padded to a length above or below the threshold
// of compression.
func withDSN(dsn string, padding int) *model.Config {
	mysql := model.Map{{Key: "data_source_name", Value: model.Credential{Value: model.String(dsn), Masked: true}},
		{Key: "lock_wait_timeout", Value: model.String(strings.Repeat("x", padding))}}
	return &model.Config{Integrations: &model.Integrations{Lists: []model.IntegrationList{{Name: "mysql",
		Configs: []model.Map{mysql}}}}}
}

// TestConfiguration holds that a configuration can be read back from both forms of its Secret, that the text for
// reviewers has no credential, and that a digest reveals none.
func TestConfiguration(t *testing.T) {
	for _, policy := range []secretref.Policy{secretref.Reference, secretref.Plaintext} {
		for _, padding := range []int{1, compressAbove} {
			b := built(t, "agent", "")
			b.secrets = secretref.New(nil, secretref.Policies{Default: policy}, b.ID)
			add := func(dsn string) Object {
				b.config("c", "", withDSN(dsn, padding))
				return b.objects[len(b.objects)-1]
			}
			one, two := add("root:hunter1@/"), add("root:hunter2@/")
			if want := agent.Print(withDSN("root:hunter1@/",
				padding)).Bytes; !bytes.Equal(Configuration(yamlOf(t, one)), want) {
				t.Errorf("%s, %d: not the configuration that was written", policy, padding)
			}
			if one.Masked == "" || one.Masked != two.Masked ||
				bytes.Equal(Configuration(yamlOf(t, one)), Configuration(yamlOf(t, two))) {
				t.Errorf("%s, %d: digests %q and %q of what differs by a credential", policy, padding, one.Masked,
					two.Masked)
			}
			if compressed := padding == compressAbove; (reviewOf(one) != nil) != compressed ||
				!bytes.Equal(reviewOf(one), reviewOf(two)) ||
				compressed && !bytes.Contains(reviewOf(one), []byte(`data_source_name: "<redacted>"`)) {
				t.Errorf("%s, %d: reviewers see %.200q", policy, padding, reviewOf(one))
			}
		}
	}
	for _, text := range []string{"", "[", "stringData: {one: x, other: x}", "data: {agent.yml: '!'}",
		"data: {agent.yml: eA==}", "data: {agent.yml: H4sIAAAAAAAA}"} {
		if got := Configuration([]byte(text)); got != nil {
			t.Errorf("%q holds %q", text, got)
		}
	}
}

// TestNothingInlined holds that a configuration without inlined secrets has no digest and no checksum.
func TestNothingInlined(t *testing.T) {
	b := built(t, "agent", "")
	b.options.RestartOnSecretChange = true
	for _, o := range b.objects {
		if o.Masked != "" || bytes.Contains(yamlOf(t, o), []byte(inlinedKey)) {
			t.Errorf("%s has a digest:\n%s", o.ID, yamlOf(t, o))
		}
	}
	if m := b.podMeta(nil, config{secret: "agent-config"}); m.Annotations[inlinedKey] != "" {
		t.Errorf("%v", m.Annotations)
	}
}

// TestConfigSecret holds that every kind of workload names its config Secret.
func TestConfigSecret(t *testing.T) {
	seen := 0
	for _, o := range built(t, "agent", "").objects {
		if !IsWorkload(o.ID.Kind) {
			continue
		}
		seen++
		if got := ConfigSecret(Pods(o.Value)); got != "agent-config" {
			t.Errorf("%s: %q", o.ID, got)
		}
	}
	if got := ConfigSecret(Pods(Workload("Deployment", nil, []byte("[")))) +
		ConfigSecret(Pods(Workload("Deployment", nil, []byte("kind: Deployment")))); got != "" || seen != 2 {
		t.Errorf("%d workloads; of what is none: %q", seen, got)
	}
}
