package manifest

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func monitorText(name, spec string) string {
	return "apiVersion: monitoring.coreos.com/v1\nkind: ServiceMonitor\nmetadata: {name: " + name +
		", namespace: m, labels: {team: red}}\nspec: {selector: {}, endpoints: [{" + spec + "}]}\n"
}

func oneFile(name, text string) Result {
	return Parse(File{Path: name, Data: []byte(text)}, Options{})
}

// TestLeftOut follows what is known of objects that cannot be used.
func TestLeftOut(t *testing.T) {
	set := NewSet(
		oneFile("a.yaml", monitorText("twice", "port: a")), oneFile("b.yaml", monitorText("twice", "port: b")),
		oneFile("c.yaml", monitorText("invalid", "port: 1")),
		oneFile("d.yaml", monitorText("good", "port: x")), oneFile("e.yaml", monitorText("good", "port: 1")),
	)
	id := func(name string) ID { return ID{"ServiceMonitor", "m", name} }
	leftOut := func(s *Set) (names []string) {
		for _, o := range s.LeftOut() {
			names = append(names, o.Name+" "+o.Labels.Get("team"))
		}
		return names
	}
	if diff := cmp.Diff([]string{"invalid red", "twice red", "twice red"}, leftOut(set)); diff != "" {
		t.Error(diff)
	}
	if set.IsLeftOut(id("good")) || set.IsLeftOut(id("gone")) || !set.IsLeftOut(id("invalid")) {
		t.Error("an object that is there, or that nobody wrote, is left out; or an invalid one is not")
	}
	standIn := oneFile("c.yaml", monitorText("invalid", "port: x")).Objects[0]
	if diff := cmp.Diff([]string{"twice red", "twice red"},
		leftOut(set.With(map[ID]*Object{standIn.ID: standIn}))); diff != "" {
		t.Errorf("with a stand-in: %s", diff)
	}
	replaced, ok := set.Replace([]*Object{set.Get(id("good"))})
	if !ok || len(replaced.LeftOut()) != 3 {
		t.Errorf("replaced: %v", leftOut(replaced))
	}
}

// TestDuplicateBesideItsStandIn holds which of two definitions is told of when one of them was
// there before, as far as that is known.
func TestDuplicateBesideItsStandIn(t *testing.T) {
	for name, c := range map[string]struct {
		standIn, a, b string // the endpoints; the stand-in is from a.yaml
		want          []string
	}{
		"none":        {"", "port: a", "port: b", []string{"a.yaml", "b.yaml"}},
		"new is b":    {"port: a", "port: a", "port: b", []string{"b.yaml"}},
		"new is a":    {"port: b", "port: a", "port: b", []string{"a.yaml"}},
		"copied":      {"port: a", "port: a", "port: a", []string{"b.yaml"}},
		"both differ": {"port: c", "port: a", "port: b", []string{"a.yaml", "b.yaml"}},
	} {
		t.Run(name, func(t *testing.T) {
			set := NewSet(oneFile("a.yaml", monitorText("x", c.a)), oneFile("b.yaml", monitorText("x", c.b)))
			if c.standIn != "" {
				o := oneFile("a.yaml", monitorText("x", c.standIn)).Objects[0]
				set = set.With(map[ID]*Object{o.ID: o})
			}
			var got []string
			for _, d := range set.Diags() {
				got = append(got, d.File)
				if fmt.Sprint(d.Related) != "[ServiceMonitor/m/x]" {
					t.Errorf("related %v", d.Related)
				}
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s\n%v", diff, set.Diags())
			}
		})
	}
}

// TestFilesOfGitCryptAreReportedTogether: there is one information for each source, and what may be in the files is not
// deleted.
func TestFilesOfGitCryptAreReportedTogether(t *testing.T) {
	t.Parallel()
	parse := func(source, path string) Result {
		return Parse(File{Source: source, Path: path, Data: []byte("\x00GITCRYPT\x00abc")}, Options{})
	}
	moved := parse("", "other.yaml").At("b.yaml", nil)
	if large := TooLarge(File{Path: "a.yaml"}).At("b.yaml", nil); large.Diags[0].File != "b.yaml" {
		t.Errorf("a file that is too large and was moved: %v", large.Diags)
	}
	set := NewSet(parse("", "c.yaml"), moved, parse("", "a.yaml"), parse("apps", "x.yaml"))
	set = set.With(nil)
	var got []string
	for _, d := range set.Diags() {
		got = append(got, d.String())
	}
	want := []string{
		"a.yaml:1:1: info[encrypted-file]: 3 files are encrypted with git-crypt, this one first, and left out: " +
			"nobody knows what they hold",
		"x.yaml:1:1: info[encrypted-file]: is encrypted with git-crypt, and left out: nobody knows what it holds",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if !set.MayLack("Secret") || moved.Broken != 1 {
		t.Error("what is in the files counts as deleted")
	}
}
