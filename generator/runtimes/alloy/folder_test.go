package alloy

import (
	"fmt"
	"maps"
	"math/rand"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentry-dev/agentry/generator/internal/alloyconfig"
	"github.com/agentry-dev/agentry/generator/model"
	"github.com/agentry-dev/agentry/generator/runtimes"
	"github.com/agentry-dev/agentry/generator/runtimes/alloy/syntax"
)

const limit = 8 << 10

// job returns a job of a monitor. Its rules have some length.
func job(namespace, name string, rules int) *model.ScrapeConfig {
	j := &model.ScrapeConfig{JobName: "serviceMonitor/" + namespace + "/" + name + "/0",
		Kubernetes: &model.KubernetesSD{Role: "endpoints", Namespaces: []string{namespace}}}
	for i := range rules {
		j.Relabel = append(j.Relabel, &model.Relabel{TargetLabel: fmt.Sprintf("label_%d", i),
			Replacement: model.Present("x")})
	}
	if rules%3 == 0 {
		j.Switches[model.HonorLabels] = new(true)
	}
	return j
}

func configOf(jobs []*model.ScrapeConfig) *model.Config {
	to := []model.RemoteWrite{{URL: "http://mimir"}}
	var some []*model.ScrapeConfig // which a second instance scrapes too
	for _, j := range jobs {
		if strings.HasSuffix(j.JobName, "2/0") {
			some = append(some, j)
		}
	}
	return &model.Config{Server: model.Server{LogLevel: "info"}, Metrics: &model.Metrics{Configs: []model.Instance{
		{Name: "a/one", RemoteWrite: to, ScrapeConfigs: jobs}, {Name: "a/two", RemoteWrite: to, ScrapeConfigs: some},
	}}}
}

func filesFor(t *testing.T, jobs []*model.ScrapeConfig) []runtimes.File {
	t.Helper()
	files, err := printed(configOf(jobs), nil).Split("", limit)
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// random returns the jobs of monitors in namespaces of all sizes.
func random(rnd *rand.Rand) (jobs []*model.ScrapeConfig) {
	for n := range 12 {
		for i := range 1 + rnd.Intn(1<<(n%6)) {
			jobs = append(jobs, job(fmt.Sprintf("team-%d", n), fmt.Sprintf("app-%d", i), 1+rnd.Intn(12)))
		}
	}
	return jobs
}

// TestNothingIsLost holds that the files together have the components of the single file, with all targets, and that
// each is as small as it can be.
func TestNothingIsLost(t *testing.T) {
	for seed := range int64(6) {
		jobs := random(rand.New(rand.NewSource(seed)))
		var all []byte
		seen := map[string]bool{}
		for i, f := range filesFor(t, jobs) {
			if len(f.Text.Bytes) > limit && f.Only == "" {
				t.Errorf("seed %d: %s has %d bytes", seed, f.Key, len(f.Text.Bytes))
			}
			if seen[f.Key] || (i == 0) != (f.Part == "") {
				t.Errorf("seed %d: two files %s, part %q", seed, f.Key, f.Part)
			}
			seen[f.Key] = true
			all = append(append(all, f.Text.Bytes...), '\n')
		}
		if len(seen) < 4 {
			t.Fatalf("seed %d: only %d files", seed, len(seen))
		}
		want, got := components(t, Print(configOf(jobs)).Bytes), components(t, all)
		if !maps.EqualFunc(want, got, slices.Equal) {
			t.Errorf("seed %d: other components:\n%v\n%v", seed, want, got)
		}
	}
}

// components returns the texts of components by their names. Those that scrape are one for each list of targets,
// without their labels.
func components(t *testing.T, text []byte) map[string][]string {
	t.Helper()
	blocks, err := alloyconfig.Blocks(string(text))
	if err != nil {
		t.Fatal(err)
	}
	out := map[string][]string{}
	for _, b := range blocks {
		if b.Name != "prometheus.scrape" {
			out[b.ID()] = append(out[b.ID()], b.Text)
			continue
		}
		_, rest, _ := strings.Cut(b.Text, b.Attrs[0].Value)
		inner := strings.TrimSuffix(strings.TrimPrefix(b.Attrs[0].Value, "array.concat("), ")")
		for expr := range strings.SplitSeq(inner, ",") {
			if expr = strings.TrimSpace(expr); expr != "" {
				key := strings.Split(b.Label, "__T")[0]
				out[key] = append(out[key], expr+rest)
			}
		}
		slices.Sort(out[strings.Split(b.Label, "__T")[0]])
	}
	return out
}

// TestEditsMoveNothing adds, removes and changes monitors at random. The jobs of others stay in their files, unless a
// file is cut in two or two become one. If none is, no file changes but those of the monitor and of what all use.
func TestEditsMoveNothing(t *testing.T) {
	same := 0
	for seed := range int64(8) {
		rnd := rand.New(rand.NewSource(seed))
		jobs := random(rnd)
		for step := range 20 {
			before := filesFor(t, jobs)
			jobs = slices.Clone(jobs)
			i := rnd.Intn(len(jobs))
			edited := jobs[i].JobName
			switch step % 3 {
			case 0:
				one := job(fmt.Sprintf("team-%d", rnd.Intn(13)), fmt.Sprintf("new-%d", step), 1+rnd.Intn(12))
				edited, jobs = one.JobName, slices.Insert(jobs, i, one)
			case 1:
				jobs = slices.Delete(jobs, i, i+1)
			default:
				jobs[i] = job(strings.Split(edited, "/")[1], strings.Split(edited, "/")[2], 1+rnd.Intn(12))
			}
			after := filesFor(t, jobs)
			old, now := filesOf(t, before), filesOf(t, after)
			for name, file := range old {
				to := now[name]
				if name != edited && file != to && to != "" && has(after, file) && has(before, to) {
					t.Fatalf("seed %d, step %d: %s moves from %s to %s for %s", seed, step, name, file, to, edited)
				}
			}
			if !slices.EqualFunc(before, after, func(a, b runtimes.File) bool { return a.Key == b.Key }) {
				continue
			}
			same++
			for n, f := range before {
				isOwn := f.Key == old[edited] || f.Key == now[edited]
				if f.Text.String() != after[n].Text.String() && strings.HasPrefix(f.Part, "targets") && !isOwn {
					t.Fatalf("seed %d, step %d: %s changes for %s (-before +after):\n%s", seed, step, f.Key, edited,
						cmp.Diff(f.Text.String(), after[n].Text.String()))
				}
			}
		}
	}
	if same < 40 {
		t.Errorf("only %d edits keep the files", same)
	}
}

func has(files []runtimes.File, key string) bool {
	return slices.ContainsFunc(files, func(f runtimes.File) bool { return f.Key == key })
}

// filesOf returns the file of each job.
func filesOf(t *testing.T, files []runtimes.File) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, f := range files {
		for _, part := range f.Text.Spans {
			out[part.Name] = f.Key
		}
	}
	return out
}

// TestOrderDoesNotMatter: the files of jobs do not depend on their order.
func TestOrderDoesNotMatter(t *testing.T) {
	rnd := rand.New(rand.NewSource(1))
	jobs := random(rnd)
	want := filesOf(t, filesFor(t, jobs))
	rnd.Shuffle(len(jobs), func(i, j int) { jobs[i], jobs[j] = jobs[j], jobs[i] })
	if got := filesOf(t, filesFor(t, jobs)); !maps.Equal(want, got) {
		t.Errorf("%v\n%v", want, got)
	}
}

func TestVariables(t *testing.T) {
	for in, want := range map[syntax.Expr]syntax.Expr{
		`a = "x"`:              `a = "x"`,
		`a = "$(A)"`:           `a = sys.env("A")`,
		`a = "x-$(A)-$(B)"`:    `a = "x-" + sys.env("A") + "-" + sys.env("B")`,
		`a = "\x24(A) $1 \""`:  `a = "\x24(A) $1 \""`,
		"a = `x\n$(A)\ny`":     "a = `x\n` + sys.env(\"A\") + `\ny`",
		`a = { "$(A)" = "b" }`: "",
	} {
		got, err := withValues(in, syntax.Env)
		if got != want || (err == nil) != (want != "") {
			t.Errorf("%s: %s, %v", in, got, err)
		}
	}
}
