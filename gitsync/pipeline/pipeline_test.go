package pipeline

import (
	"bytes"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentry-dev/agentry/generator/manifest"
	webhook "github.com/agentry-dev/agentry/internal/webhook/kind"
)

func TestOverlaps(t *testing.T) {
	const url = "https://git.example.com/out.git"
	at := func(name, url, branch, path string) *Pipeline {
		return &Pipeline{Metadata: Metadata{Name: name},
			Spec: Spec{Output: Output{URL: url, Branch: branch, Path: path}}}
	}
	for name, test := range map[string]struct {
		a, b *Pipeline
		want bool
	}{
		"equal places":            {at("a", url, "x", "."), at("b", url, "x", "."), true},
		"another branch":          {at("a", url, "x", "."), at("b", url, "y", "."), false},
		"folders side by side":    {at("a", url, "x", "prod"), at("b", url, "x", "prod-eu"), false},
		"one folder in the other": {at("a", url, "x", "prod"), at("b", url, "x", "prod/eu"), true},
		"the root and a folder":   {at("a", url, "x", "prod"), at("b", url, "x", "."), true},
		"one place spelt two ways": {at("a", url, "x", "prod/"), at("b", "git@GIT.example.com:out", "x", "./prod"),
			true},
		"another port": {at("a", url, "x", "."), at("b", "https://git.example.com:8443/out.git", "x", "."),
			false},
		"one name, other places":    {at("a", url, "x", "."), at("a", url, "y", "."), true},
		"a branch below the other":  {at("a", url, "x", "prod"), at("b", url, "x/y", "dev"), true},
		"another repository's name": {at("a", url, "x", "."), at("b", url+"2", "x", "."), false},
	} {
		if got := len(Overlaps([]*Pipeline{test.a, test.b})) > 0; got != test.want {
			t.Errorf("%s: %v, want %v", name, got, test.want)
		}
	}
}

// TestOverlapsOfAFleet compares with a comparison of each pair.
func TestOverlapsOfAFleet(t *testing.T) {
	const url = "https://git.example.com/out.git"
	branches := []string{"a", "a-next", "a/b", "a-next/x", "b"}
	paths := []string{".", "x", "x/y", "z"}
	var fleet []*Pipeline
	for i := range 120 {
		p := &Pipeline{Metadata: Metadata{Name: fmt.Sprint("p", i*7%100)}}
		p.Spec.Output = Output{URL: url, Branch: branches[i*11%len(branches)], Path: paths[i*13%len(paths)]}
		switch i % 3 {
		case 1:
			p.Spec.Output.Promotion.Mode = PromoteNext
		case 2:
			p.Spec.Output.OCI = &OCI{URL: fmt.Sprint("oci://registry.example.com/", i%10)}
		}
		if i%4 == 0 {
			p.Spec.Output.URL = fmt.Sprint("https://git.example.com/", i)
		}
		fleet = append(fleet, p)
	}
	var want []Overlap
	for j := range fleet {
		for i := range j {
			pair := Overlaps([]*Pipeline{fleet[i], fleet[j]})
			if slow := overlapsSlowly(fleet[i], fleet[j]); slow != (len(pair) > 0) {
				t.Fatalf("%+v and %+v: %v", fleet[i].Spec.Output, fleet[j].Spec.Output, slow)
			}
			for _, o := range pair {
				want = append(want, Overlap{First: i, Second: j, SameName: o.SameName, SameArtifact: o.SameArtifact})
			}
		}
	}
	if diff := cmp.Diff(want, Overlaps(fleet)); diff != "" || len(want) < 100 {
		t.Errorf("of %d (-want +got):\n%s", len(want), diff)
	}
}

func overlapsSlowly(a, b *Pipeline) bool {
	if a.Metadata.Name == b.Metadata.Name ||
		a.Spec.Output.OCI != nil && b.Spec.Output.OCI != nil && *a.Spec.Output.OCI == *b.Spec.Output.OCI {
		return true
	}
	for _, x := range a.Spec.Output.places() {
		for _, y := range b.Spec.Output.places() {
			nested := x.branch != y.branch && (Within(x.branch, y.branch) || Within(y.branch, x.branch))
			same := x.branch == y.branch && (Within(x.path, y.path) || Within(y.path, x.path))
			if x.repository == y.repository && (nested || same) {
				return true
			}
		}
	}
	return false
}

func TestProposedBranch(t *testing.T) {
	for path, want := range map[string]string{"": "environments/prod-next", ".": "environments/prod-next",
		"app-a": "environments/prod-next/app-a", "./x//y/": "environments/prod-next/x/y"} {
		if got := (Output{Branch: "environments/prod", Path: path}).ProposedBranch(); got != want {
			t.Errorf("%q: %s, want %s", path, got, want)
		}
	}
}

// TestDefaultsOfTheService checks the defaults that depend on other fields.
func TestDefaultsOfTheService(t *testing.T) {
	const url = "https://git.example.com:8443/a.git"
	source := Source{URL: url, Webhook: &Webhook{Type: "gitlab", SecretEnv: "S"},
		Forge: &Forge{Type: ForgeGitLab, TokenEnv: "T"}}
	for name, test := range map[string]struct {
		output      Output
		wantWebhook bool
		wantForge   string // its URL
	}{
		"pull requests go through the forge of the source": {Output{Promotion: Promotion{Mode: PromotePullRequest}},
			true, "https://git.example.com:8443"},
		"without pull requests the output needs none": {Output{}, true, ""},
		"another repository has nothing of it": {Output{URL: "https://git.example.com/b.git",
			Promotion: Promotion{Mode: PromotePullRequest}}, false, ""},
		"one of its own stays": {
			Output{URL: "ssh://git@git.example.com:2222/b.git", Promotion: Promotion{Mode: PromotePullRequest},
				Forge: &Forge{Type: ForgeGitea}}, false, "https://git.example.com",
		},
	} {
		p := &Pipeline{Spec: Spec{Sources: []Source{source}, Output: test.output}}
		p.Default()
		o := p.Spec.Output
		forge := ""
		if o.Forge != nil {
			forge = o.Forge.URL
		}
		if (o.Webhook != nil) != test.wantWebhook || forge != test.wantForge {
			t.Errorf("%s: webhook %v, forge %q", name, o.Webhook, forge)
		}
		if o.Webhook == source.Webhook && o.Webhook != nil {
			t.Errorf("%s: the webhook is shared, so that a change of one would be one of both", name)
		}
	}
}

func TestMaxDeletions(t *testing.T) {
	for text, want := range map[string]int{"0%": 0, "50%": 50, "100%": 100} {
		if got, err := (Limits{Deletions: text}).MaxDeletions(); err != nil || got != want {
			t.Errorf("%s is %d, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "50", "-1%", "101%", "1.5%", "%"} {
		if _, err := (Limits{Deletions: text}).MaxDeletions(); err == nil {
			t.Errorf("%q is accepted", text)
		}
	}
}

// TestWebhookTypes holds the schema to the kinds of webhooks that there are.
func TestWebhookTypes(t *testing.T) {
	text, err := json.Marshal(webhook.Names())
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(manifest.Pipeline.Schema(), append([]byte(`"enum":`), text...)) {
		t.Errorf("the schema does not list the types %s", text)
	}
}

func TestDefaultTwiceIsDefaultOnce(t *testing.T) {
	p := &Pipeline{Spec: Spec{
		Sources: []Source{{URL: "https://git.example.com/a.git", Webhook: &Webhook{}, Forge: &Forge{},
			Previews: &Previews{}}},
		Output: Output{Promotion: Promotion{Mode: PromotePullRequest}, OCI: &OCI{}, Receivers: []Receiver{{}}},
		Notify: []Notify{{}},
	}}
	p.Default()
	once := *p
	p.Default()
	if diff := cmp.Diff(once, *p); diff != "" {
		t.Error(diff)
	}
}
