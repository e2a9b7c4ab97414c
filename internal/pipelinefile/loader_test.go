package pipelinefile

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/gitsync/fleet"
)

// doc is a pipeline that writes to a branch; more is indented by two.
func doc(name, branch string, more ...string) string {
	return "---\napiVersion: agentry.dev/v1alpha1\nkind: Pipeline\nmetadata: {name: " + name + "}\nspec:\n" +
		"  sources: [{url: https://git.example.com/a.git, ref: {branch: main}}]\n" +
		"  output: {branch: environments/" + branch + "}\n" + strings.Join(more, "\n") + "\n"
}

func after(name string) string { return "  rollout: {after: [" + name + "]}" }

// step changes files, and has what runs afterwards as NAME at BRANCH, and what is reported.
type step struct {
	files map[string]string // an empty text deletes the file
	runs  []string
	tells []string // parts of the report; none: there is nothing to tell
}

// TestLoader changes the configuration of a running fleet step by step.
func TestLoader(t *testing.T) {
	for name, steps := range map[string][]step{
		"files come, change and go": {
			{map[string]string{"a.yaml": doc("a", "a"), "b.yml": doc("b", "b"),
				"c.json": `{"apiVersion": "agentry.dev/v1alpha1", "kind": "Pipeline", "metadata": {"name": "c"}, "spec": {"sources": [{"url": "/srv/c.git", "ref": {"branch": "main"}}], "output": {"branch": "c"}}}`, "notes.txt": "x", ".hidden.yaml": "x"}, []string{"a@environments/a", "b@environments/b", "c@c"}, nil},
			{map[string]string{"a.yaml": doc("a", "a2") + doc("d", "d"), "c.json": ""},
				[]string{"a@environments/a2", "d@environments/d", "b@environments/b"}, nil},
		},
		"a file with an error keeps its last good version": {
			{map[string]string{"a.yaml": doc("a", "a") + doc("a2", "a2"), "b.yaml": doc("b", "b")},
				[]string{"a@environments/a", "a2@environments/a2", "b@environments/b"}, nil},
			{map[string]string{"a.yaml": doc("a", "new") + "x: [", "b.yaml": doc("b", "b2")},
				[]string{"a@environments/a", "a2@environments/a2", "b@environments/b2"},
				[]string{"a.yaml", "error[pipeline-invalid]",
					"a.yaml: warning[pipeline-kept]: the last good version of the file stays in force: a, a2"}},
			{map[string]string{"a.yaml": doc("a", "new")}, []string{"a@environments/new", "b@environments/b2"}, nil},
		},
		"a file that is being written, empty for a moment": {
			{map[string]string{"a.yaml": doc("a", "a"), "b.yaml": doc("b", "b")},
				[]string{"a@environments/a", "b@environments/b"}, nil},
			{map[string]string{"a.yaml": "\n"}, []string{"a@environments/a", "b@environments/b"},
				[]string{"the file holds no pipeline", "stays in force: a"}},
		},
		"at start a file with an error runs nothing, the others run": {
			{map[string]string{"a.yaml": "x", "b.yaml": doc("b", "b")}, []string{"b@environments/b"},
				[]string{"a.yaml:1:1: error[pipeline-invalid]",
					"a.yaml: warning[pipeline-kept]: none of the file's pipelines runs"}},
			{map[string]string{"a.yaml": doc("a", "a")}, []string{"a@environments/a", "b@environments/b"}, nil},
		},
		"a folder that becomes empty stops nothing": {
			{map[string]string{"a.yaml": doc("a", "a"), "b.yaml": doc("b", "b")},
				[]string{"a@environments/a", "b@environments/b"}, nil},
			{map[string]string{"a.yaml": "", "b.yaml": ""}, []string{"a@environments/a", "b@environments/b"},
				[]string{"the folder holds no file", "warning[pipeline-kept]: all pipelines go on as they were"}},
			{map[string]string{"b.yaml": doc("b", "b")}, []string{"b@environments/b"}, nil},
		},
		"at start an empty folder is an error": {
			{nil, nil, []string{"error[pipeline-invalid]: the folder holds no file"}},
			{map[string]string{"a.yaml": doc("a", "a")}, []string{"a@environments/a"}, nil},
		},
		"who wants another one's place keeps its own, until it is free": {
			{map[string]string{"a.yaml": doc("a", "a"), "b.yaml": doc("b", "b")},
				[]string{"a@environments/a", "b@environments/b"}, nil},
			{map[string]string{"a.yaml": doc("a", "b")}, []string{"a@environments/a", "b@environments/b"},
				[]string{"a.yaml:7:3: error[pipeline-conflict]: Pipeline/a: spec.output: writes to the same place " +
					"as pipeline b", "b.yaml:2", "a.yaml: warning[pipeline-kept]: the last good version of the file " +
					"stays in force: a"}},
			{map[string]string{"b.yaml": doc("b", "c")}, []string{"a@environments/b", "b@environments/c"}, nil},
		},
		"who goes back is in the way of another one, which goes back too": {
			{map[string]string{"a.yaml": doc("a", "a"), "b.yaml": doc("b", "b"), "c.yaml": doc("c", "c")},
				[]string{"a@environments/a", "b@environments/b", "c@environments/c"}, nil},
			{map[string]string{"a.yaml": doc("a", "c"), "b.yaml": doc("b", "a")},
				[]string{"a@environments/a", "b@environments/b", "c@environments/c"},
				[]string{"a.yaml: warning[pipeline-kept]", "b.yaml: warning[pipeline-kept]"}},
			{map[string]string{"c.yaml": doc("c", "b")},
				[]string{"a@environments/c", "b@environments/a", "c@environments/b"}, nil},
		},
		"of a file's pipelines that were in the way, one is free again": {
			{map[string]string{"a.yaml": doc("a", "a"), "b.yaml": doc("b", "b")},
				[]string{"a@environments/a", "b@environments/b"}, nil},
			{map[string]string{"c.yaml": doc("c", "c") + doc("x", "a") + doc("z", "b")},
				[]string{"a@environments/a", "b@environments/b", "c@environments/c"},
				[]string{"c.yaml: warning[pipeline-kept]: the other pipelines of the file run: c"}},
			{map[string]string{"a.yaml": ""}, []string{"b@environments/b", "c@environments/c", "x@environments/a"},
				[]string{"c.yaml: warning[pipeline-kept]: the other pipelines of the file run: c, x"}},
		},
		"two files change places at once": {
			{map[string]string{"a.yaml": doc("a", "a"), "b.yaml": doc("b", "b")},
				[]string{"a@environments/a", "b@environments/b"}, nil},
			{map[string]string{"a.yaml": doc("a", "b"), "b.yaml": doc("b", "a")},
				[]string{"a@environments/b", "b@environments/a"}, nil},
		},
		"a pipeline moves to another file, which is written first": {
			{map[string]string{"a.yaml": doc("a", "a") + doc("x", "x"), "b.yaml": doc("b", "b")},
				[]string{"a@environments/a", "x@environments/x", "b@environments/b"}, nil},
			{map[string]string{"b.yaml": doc("b", "b") + doc("x", "x")},
				[]string{"a@environments/a", "x@environments/x", "b@environments/b"},
				[]string{"b.yaml:12:12: error[pipeline-conflict]: Pipeline/x: metadata.name: another pipeline has " +
					"this name, see", "a.yaml:10"}},
			{map[string]string{"a.yaml": doc("a", "a")},
				[]string{"a@environments/a", "b@environments/b", "x@environments/x"}, nil},
		},
		"a new file gets in the way of one that changed elsewhere": {
			{map[string]string{"b.yaml": doc("b", "b")}, []string{"b@environments/b"}, nil},
			{map[string]string{"a.yaml": doc("a", "a") + doc("b", "x"), "b.yaml": doc("b", "b") + doc("c", "c")},
				[]string{"a@environments/a", "b@environments/b", "c@environments/c"},
				[]string{"a.yaml:12:12: error[pipeline-conflict]",
					"a.yaml: warning[pipeline-kept]: the other pipelines of the file run: a"}},
		},
		"of two that are new, and in each other's way, neither runs": {
			{map[string]string{"a.yaml": doc("a", "x"), "b.yaml": doc("b", "b") + doc("b2", "x"),
				"c.yaml": doc("c", "c")}, []string{"b@environments/b", "c@environments/c"},
				[]string{"b.yaml:15:3: error[pipeline-conflict]: Pipeline/b2",
					"a.yaml:7:3: error[pipeline-conflict]: Pipeline/a",
					"a.yaml: warning[pipeline-kept]: none of the file's pipelines runs",
					"b.yaml: warning[pipeline-kept]: the other pipelines of the file run: b"}},
			{map[string]string{"c.yaml": doc("c", "c2")}, []string{"b@environments/b", "c@environments/c2"},
				[]string{"b.yaml: warning[pipeline-kept]: the other pipelines of the file run: b"}},
			{map[string]string{"a.yaml": ""}, []string{"b@environments/b", "b2@environments/x", "c@environments/c2"},
				nil},
		},
		"a rollout names a pipeline of another file": {
			{map[string]string{"a.yaml": doc("a", "a"), "b.yaml": doc("b", "b", after("a"))},
				[]string{"a@environments/a", "b@environments/b after a"}, nil},
			{map[string]string{"b.yaml": doc("b", "b", after("z"))},
				[]string{"a@environments/a", "b@environments/b after a"},
				[]string{`spec.rollout.after[0]: no pipeline has the name "z"`, "b.yaml: warning[pipeline-kept]"}},
			{map[string]string{"a.yaml": doc("a", "a", after("b")), "b.yaml": doc("b", "b", after("a"))},
				[]string{"a@environments/a", "b@environments/b after a"},
				[]string{"waits in a circle: a after b after a", "a.yaml: warning[pipeline-kept]"}},
			{map[string]string{"a.yaml": ""}, []string{"b@environments/b after a"},
				[]string{`no pipeline has the name "a"`}},
		},
		"at start a rollout that cannot be waits, and says so": {
			{map[string]string{"a.yaml": "x", "b.yaml": doc("b", "b", after("a"))},
				[]string{"b@environments/b after a"},
				[]string{`b.yaml:8:21: error[pipeline-invalid]: Pipeline/b: spec.rollout.after[0]: no pipeline has the name "a"`}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			loader := NewLoader(LoaderOptions{Path: folder})
			for i, s := range steps {
				change(t, folder, s.files)
				defs, problems, changed := loader.Load()
				if diff := cmp.Diff(s.runs, running(defs)); diff != "" {
					t.Errorf("step %d: what runs (-want +got):\n%s", i, diff)
				}
				checkTold(t, problems, s.tells)
				if !changed {
					t.Errorf("step %d: it says that nothing changed", i)
				}
				if _, _, changed := loader.Load(); changed {
					t.Errorf("step %d: it says that something changed again", i)
				}
			}
		})
	}
}

func checkTold(t *testing.T, problems diag.List, want []string) {
	t.Helper()
	got := report(t, problems)
	for _, part := range want {
		if !strings.Contains(got, part) {
			t.Errorf("told:\n%swant: %s", got, part)
		}
	}
	if len(want) == 0 && len(problems) > 0 {
		t.Errorf("told: %s", got)
	}
}

// change writes and deletes files.
func change(t *testing.T, folder string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		if text != "" {
			write(t, folder, name, text)
		} else if err := os.Remove(filepath.Join(folder, name)); err != nil {
			t.Fatal(err)
		}
	}
}

// running describes the pipelines that run.
func running(defs []fleet.Definition) []string {
	var out []string
	for _, d := range defs {
		text := d.Metadata.Name + "@" + d.Spec.Output.Branch
		if after := d.Spec.Rollout.After; len(after) > 0 {
			text += " after " + strings.Join(after, ", ")
		}
		out = append(out, text)
	}
	return out
}

func TestLoaderOfOneFile(t *testing.T) {
	folder := t.TempDir()
	write(t, folder, "p", doc("a", "a"))
	loader := NewLoader(LoaderOptions{Path: filepath.Join(folder, "p")})
	want := []string{"a@environments/a"}
	for _, s := range []step{
		{nil, want, nil},
		{map[string]string{"p": "x"}, want, []string{"error[pipeline-invalid]", "stays in force: a"}},
		{map[string]string{"p": ""}, want,
			[]string{"cannot be read: stat: no such file or directory", "all pipelines go on as they were"}},
		{map[string]string{"p": doc("b", "b")}, []string{"b@environments/b"}, nil},
	} {
		change(t, folder, s.files)
		defs, problems, _ := loader.Load()
		if diff := cmp.Diff(s.runs, running(defs)); diff != "" {
			t.Error(diff)
		}
		checkTold(t, problems, s.tells)
	}
}

// TestLoaderFollowsAConfigMap changes files as kubelet does: all at once, by a link.
func TestLoaderFollowsAConfigMap(t *testing.T) {
	mount := t.TempDir()
	version := func(name, text string) {
		dir := filepath.Join(mount, name)
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		write(t, dir, "a.yaml", text)
		if err := os.Symlink(name, filepath.Join(mount, "..data_tmp")); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(filepath.Join(mount, "..data_tmp"), filepath.Join(mount, "..data")); err != nil {
			t.Fatal(err)
		}
	}
	version("..2026_1", doc("a", "a"))
	if err := os.Symlink("..data/a.yaml", filepath.Join(mount, "a.yaml")); err != nil {
		t.Fatal(err)
	}
	loader := NewLoader(LoaderOptions{Path: mount})
	defs, problems, _ := loader.Load()
	if diff := cmp.Diff([]string{"a@environments/a"}, running(defs)); diff != "" || len(problems) > 0 {
		t.Fatal(diff, problems)
	}
	if loader.moved() {
		t.Error("it looks changed before it is")
	}
	version("..2026_2", doc("a", "b"))
	if !loader.moved() {
		t.Error("the change is not seen from outside")
	}
	defs, _, changed := loader.Load()
	if diff := cmp.Diff([]string{"a@environments/b"}, running(defs)); diff != "" || !changed {
		t.Error(diff, changed)
	}
}

// TestUnreadableFilesAreKept removes the target of a link, beside entries that are not files.
func TestUnreadableFilesAreKept(t *testing.T) {
	folder, elsewhere := t.TempDir(), t.TempDir()
	write(t, elsewhere, "a.yaml", doc("a", "a"))
	write(t, folder, "b.yaml", doc("b", "b"))
	if err := os.Symlink(filepath.Join(elsewhere, "a.yaml"), filepath.Join(folder, "a.yaml")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(elsewhere, filepath.Join(folder, "folder.yaml")); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(filepath.Join(folder, "pipe.yaml"), 0o600); err != nil {
		t.Fatal(err)
	}
	loader := NewLoader(LoaderOptions{Path: folder})
	loader.Load()
	change(t, elsewhere, map[string]string{"a.yaml": ""})
	defs, problems, _ := loader.Load()
	if diff := cmp.Diff([]string{"a@environments/a", "b@environments/b"}, running(defs)); diff != "" {
		t.Error(diff)
	}
	checkTold(t, problems, []string{"a.yaml: error[pipeline-invalid]: open: no such file or directory",
		"stays in force: a"})
}

func TestPipelinesThatStayAreTheSame(t *testing.T) {
	folder := t.TempDir()
	write(t, folder, "a.yaml", doc("a", "a"))
	write(t, folder, "b.yaml", doc("b", "b"))
	loader := NewLoader(LoaderOptions{Path: folder})
	before, _, _ := loader.Load()
	write(t, folder, "b.yaml", doc("b", "b2"))
	now, _, _ := loader.Load()
	if before[0].Source != now[0].Source || before[1].Source == now[1].Source {
		t.Error("not just the file that changed was read again")
	}
}

// TestTemplatesRememberTheirFolders: an edit elsewhere in the file of a template does not take an output from the
// folder that has it.
func TestTemplatesRememberTheirFolders(t *testing.T) {
	folder := t.TempDir()
	deep := strings.Replace(eachCluster, "forEach: clusters/*", "forEach: clusters/*/*", 1)
	write(t, folder, "a.yaml", deep)
	loader := NewLoader(LoaderOptions{Path: folder})
	defs, _, _ := loader.Load()
	defs[0].Expand([]string{"clusters/eu/prod"})
	write(t, folder, "a.yaml", deep+doc("b", "b"))
	defs, _, _ = loader.Load()
	made, found := defs[0].Expand([]string{"clusters/ap/prod", "clusters/eu/prod"})
	if len(made) != 1 || !strings.HasSuffix(made[0].Origin, "a.yaml:1 (clusters/eu/prod)") || !found.HasErrors() {
		t.Errorf("made %v: %s", running(made), report(t, found))
	}
}

// TestSlowChecksComeFurtherApart: thousands of files cost a service that rests next to nothing.
func TestSlowChecksComeFurtherApart(t *testing.T) {
	for _, c := range []struct{ poll, took, want time.Duration }{
		{0, 100 * time.Microsecond, DefaultPoll}, {0, 5 * time.Millisecond, 10 * time.Second},
		{0, time.Minute, maxPoll}, {time.Minute, time.Second, time.Minute},
	} {
		if got := NewLoader(LoaderOptions{Poll: c.poll}).rest(c.took); got != c.want {
			t.Errorf("%s after a check of %s: %s", c.want, c.took, got)
		}
	}
}

func TestWatch(t *testing.T) {
	folder := t.TempDir()
	write(t, folder, "a.yaml", doc("a", "a"))
	synctest.Test(t, func(t *testing.T) {
		loader := NewLoader(LoaderOptions{Path: folder})
		loader.Load()
		ctx, cancel := context.WithCancel(t.Context())
		var told [][]string
		done := make(chan struct{})
		go func() {
			defer close(done)
			loader.Watch(ctx, func(defs []fleet.Definition, _ diag.List) { told = append(told, running(defs)) })
		}()
		time.Sleep(10 * DefaultPoll) // of the bubble's clock
		synctest.Wait()
		if len(told) > 0 {
			t.Errorf("told %v although nothing changed", told)
		}
		write(t, folder, "a.yaml", doc("a", "longer"))
		time.Sleep(DefaultPoll)
		synctest.Wait()
		stale := fileTimes(t, folder, "a.yaml")
		write(t, folder, "a.yaml", doc("a", "LONGER"))
		if err := os.Chtimes(filepath.Join(folder, "a.yaml"), stale, stale); err != nil {
			t.Fatal(err)
		}
		time.Sleep(rereadAfter * DefaultPoll)
		synctest.Wait()
		cancel()
		<-done
		want := [][]string{{"a@environments/longer"}, {"a@environments/LONGER"}}
		if diff := cmp.Diff(want, told); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
	})
}

func fileTimes(t *testing.T, folder, name string) time.Time {
	t.Helper()
	info, err := os.Stat(filepath.Join(folder, name))
	if err != nil {
		t.Fatal(err)
	}
	return info.ModTime()
}

func TestLoad(t *testing.T) {
	folder := t.TempDir()
	write(t, folder, "a.yaml", doc("a", "a"))
	write(t, folder, "b.yaml", doc("b", "a", after("c")))
	_, found, _ := NewLoader(LoaderOptions{Path: folder}).Load()
	checkTold(t, found, []string{
		"b.yaml:7:3: error[pipeline-conflict]: Pipeline/b: spec.output: writes to the same place as pipeline a",
		"a.yaml:2"})
	fleet, found := Parse("b.yaml", []byte(doc("b", "a", after("c"))))
	if got := names(fleet); !slices.Equal(got, []string{"b"}) || len(found) > 0 {
		t.Errorf("one file of a fleet: %v, %s", got, report(t, found))
	}
	if _, problems, _ := NewLoader(LoaderOptions{Path: t.TempDir()}).Load(); len(problems) != 1 ||
		!problems.HasErrors() {
		t.Errorf("at start an empty folder keeps nothing: %s", report(t, problems))
	}
}

func TestFolderLimit(t *testing.T) {
	folder := t.TempDir()
	for i := range MaxFiles + 1 {
		write(t, folder, string(rune('a'+i%26))+strings.Repeat("x", i/26%64)+"-"+strings.Repeat("y", i/26/64)+".yaml",
			"")
	}
	if _, err := Files(folder); err == nil || !strings.Contains(err.Error(), "more than 10000 files") {
		t.Errorf("above the limit: %v", err)
	}
	names, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(folder, names[0].Name())); err != nil {
		t.Fatal(err)
	}
	if names, err := Files(folder); err != nil || len(names) != MaxFiles {
		t.Errorf("at the limit: %d files, %v", len(names), err)
	}
}
