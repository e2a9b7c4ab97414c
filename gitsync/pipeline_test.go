package gitsync

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestOverlaps(t *testing.T) {
	const url = "https://git.example.com/out.git"
	at := func(name, url, branch, path string) *Pipeline {
		return &Pipeline{Metadata: Metadata{Name: name}, Spec: PipelineSpec{Output: Output{URL: url, Branch: branch, Path: path}}}
	}
	for name, test := range map[string]struct {
		a, b *Pipeline
		want bool
	}{
		"equal places":              {at("a", url, "x", "."), at("b", url, "x", "."), true},
		"another branch":            {at("a", url, "x", "."), at("b", url, "y", "."), false},
		"folders side by side":      {at("a", url, "x", "prod"), at("b", url, "x", "prod-eu"), false},
		"one folder in the other":   {at("a", url, "x", "prod"), at("b", url, "x", "prod/eu"), true},
		"the root and a folder":     {at("a", url, "x", "prod"), at("b", url, "x", "."), true},
		"one place spelt two ways":  {at("a", url, "x", "prod/"), at("b", "git@GIT.example.com:out", "x", "./prod"), true},
		"another port":              {at("a", url, "x", "."), at("b", "https://git.example.com:8443/out.git", "x", "."), false},
		"one name, other places":    {at("a", url, "x", "."), at("a", url, "y", "."), true},
		"another repository's name": {at("a", url, "x", "."), at("b", url+"2", "x", "."), false},
	} {
		if got := len(Overlaps([]*Pipeline{test.a, test.b})) > 0; got != test.want {
			t.Errorf("%s: %v, want %v", name, got, test.want)
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

func TestDefaultTwiceIsDefaultOnce(t *testing.T) {
	p := &Pipeline{Spec: PipelineSpec{Sources: []Source{{URL: "/srv/a.git"}}}}
	p.Default()
	once := *p
	p.Default()
	if diff := cmp.Diff(once, *p); diff != "" {
		t.Error(diff)
	}
}
