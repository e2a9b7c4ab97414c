package main

import (
	"encoding/json"
	"flag"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"go.yaml.in/yaml/v3"
)

var update = flag.Bool("update", false, "write the scripts of dist/ci into templates/agentry.yml")

// forge simulates GitHub and GitLab with one pull request, and keeps what is written to it.
type forge struct {
	*httptest.Server
	mu     sync.Mutex
	bodies []string
}

func newForge(t *testing.T) *forge {
	t.Helper()
	f := &forge{}
	mux := http.NewServeMux()
	list := func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "[]") }
	write := func(w http.ResponseWriter, req *http.Request) {
		var c struct{ Body string }
		_ = json.NewDecoder(req.Body).Decode(&c)
		f.mu.Lock()
		defer f.mu.Unlock()
		f.bodies = append(f.bodies, c.Body)
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusCreated)
		_ = json.NewEncoder(w).Encode(map[string]any{"id": 1, "body": c.Body})
	}
	for _, path := range []string{"/api/v3/repos/org/monitoring/issues/7/comments",
		"/api/v4/projects/org%2Fmonitoring/merge_requests/7/notes"} {
		mux.HandleFunc("GET "+path, list)
		mux.HandleFunc("POST "+path, write)
	}
	f.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if req.Header.Get("Authorization") != "Bearer s3cret-t0ken" {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		mux.ServeHTTP(w, req)
	}))
	t.Cleanup(f.Close)
	return f
}

// change is a pull request: a checkout as CI systems make it, with as few commits as possible.
type change struct {
	checkout          string
	base, head, merge string
}

// newChange makes a pull request that changes one file of the quickstart, while main changes another one.
func newChange(t *testing.T, old, new string) change {
	t.Helper()
	for name, value := range map[string]string{"GIT_AUTHOR_NAME": "Ada", "GIT_AUTHOR_EMAIL": "ada@example.com",
		"GIT_COMMITTER_NAME": "Ada", "GIT_COMMITTER_EMAIL": "ada@example.com"} {
		t.Setenv(name, value)
	}
	origin := t.TempDir()
	git := func(args ...string) string { t.Helper(); return strings.TrimSpace(command(t, origin, "git", args...)) }
	edit := func(name, old, new string) {
		t.Helper()
		file := filepath.Join(origin, "clusters", "my prod", name)
		text := string(read(t, file))
		if !strings.Contains(text, old) {
			t.Fatalf("%s has no %q", name, old)
		}
		if err := os.WriteFile(file, []byte(strings.ReplaceAll(text, old, new)), 0o666); err != nil {
			t.Fatal(err)
		}
		git("commit", "-q", "-a", "-m", "edit")
	}
	git("init", "-q", "-b", "main")
	git("config", "uploadpack.allowAnySHA1InWant", "true") // as GitHub and GitLab do
	if err := os.CopyFS(filepath.Join(origin, "clusters", "my prod"),
		os.DirFS(filepath.Join(root, "examples", "quickstart"))); err != nil {
		t.Fatal(err)
	}
	pipeline := "apiVersion: agentry.dev/v1alpha1\nkind: Pipeline\nmetadata: {name: prod}\nspec:\n" +
		"  sources: [{url: \"file://" + origin + "\", ref: {branch: main}, paths: [clusters/my prod]}]\n" +
		"  output: {branch: environments/prod}\n"
	if err := os.WriteFile(filepath.Join(origin, "clusters", "my prod", "pipeline.yaml"), []byte(pipeline),
		0o666); err != nil {
		t.Fatal(err)
	}
	git("add", ".")
	git("commit", "-q", "-m", "start")
	git("checkout", "-q", "-b", "topic")
	edit("team-shop/monitors.yaml", old, new)
	c := change{head: git("rev-parse", "HEAD"), checkout: t.TempDir()}
	git("checkout", "-q", "main")
	edit("monitoring/agent.yaml", "v0.44.8", "v0.44.7")
	c.base = git("rev-parse", "HEAD")
	git("checkout", "-q", "--detach")
	git("merge", "-q", "--no-ff", "-m", "merge", "topic")
	c.merge = git("rev-parse", "HEAD")
	git("update-ref", "refs/pull/7/merge", c.merge)
	command(t, c.checkout, "git", "init", "-q")
	command(t, c.checkout, "git", "remote", "add", "origin", "file://"+origin)
	command(t, c.checkout, "git", "fetch", "-q", "--depth=1", "origin", c.merge)
	command(t, c.checkout, "git", "checkout", "-q", c.merge)
	return c
}

// runAction runs the steps of action.yml like GitHub, for a pull request in this repository.
func (c change) runAction(t *testing.T, m *mirror, f *forge, inputs map[string]string) (out, summary string,
	err error) {
	t.Helper()
	temp, action := t.TempDir(), readAction(t)
	known := map[string]string{"runner.temp": temp, "github.sha": c.merge, "github.token": "s3cret-t0ken"}
	for name, input := range action.Inputs {
		known["inputs."+name] = *input.Default
	}
	for name, value := range inputs {
		known["inputs."+name] = value
	}
	if known["inputs.token"] == "${{ github.token }}" {
		known["inputs.token"] = known["github.token"]
	}
	const ours = "inputs.comment == 'true' && github.actor != 'dependabot[bot]' && " +
		"github.event.pull_request.head.repo.full_name == github.repository && github.event.pull_request.html_url || ''"
	if known["inputs.comment"] == "true" {
		known[ours] = f.URL + "/org/monitoring/pull/7"
	} else {
		known[ours] = ""
	}
	here, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	paths, summaryFile := filepath.Join(temp, "path"), filepath.Join(temp, "summary")
	path := os.Getenv("PATH")
	for _, step := range action.Runs.Steps {
		if step.If != "" && known["inputs.paths"] == "" {
			continue
		}
		env := []string{"GITHUB_ACTION_PATH=" + here, "GITHUB_PATH=" + paths, "GITHUB_STEP_SUMMARY=" + summaryFile,
			"CURL_CA_BUNDLE=" + m.trust, "PATH=" + path}
		for name, value := range step.Env {
			env = append(env, name+"="+regexp.MustCompile(`\$\{\{ (.*?) \}\}`).ReplaceAllStringFunc(value,
				func(expression string) string {
					value, ok := known[expression[len("${{ "):len(expression)-len(" }}")]]
					if !ok {
						t.Errorf("what is %s?", expression)
					}
					return value
				}))
		}
		script := filepath.Join(temp, "step.sh")
		if err := os.WriteFile(script, []byte(step.Run), 0o666); err != nil {
			t.Fatal(err)
		}
		printed, err := shell(t, c.checkout, env, step.Shell, "-e", script)
		out += printed
		if err != nil {
			text, _ := os.ReadFile(summaryFile) // missing after an early error
			return out, string(text), err
		}
		path = strings.TrimSpace(string(read(t, paths))) + ":" + path
	}
	text, _ := os.ReadFile(summaryFile) // missing without a review
	return out, string(text), nil
}

func TestActionReviewsAPullRequest(t *testing.T) {
	m, f := newMirror(t), newForge(t)
	c := newChange(t, "interval: 30s", "interval: 45s")
	inputs := map[string]string{"releases": m.URL + "/releases", "paths": "clusters/my prod\n"}
	out, summary, err := c.runAction(t, m, f, inputs)
	if err != nil || !strings.Contains(out, "agentry v") || strings.Contains(out+summary, "s3cret") {
		t.Fatalf("%v\n%s", err, out)
	}
	// It has only the changes of the pull request, although main has moved.
	if !strings.Contains(summary, "scrape_interval: 30s → 45s") || strings.Contains(summary, "v0.44.7") {
		t.Errorf("the summary:\n%s", summary)
	}
	if len(f.bodies) != 1 || !strings.HasPrefix(f.bodies[0], "<!-- agentry:diff:") ||
		!strings.Contains(f.bodies[0], "### agentry: `clusters/my prod pipeline prod`") ||
		!strings.HasSuffix(f.bodies[0], summary) {
		t.Errorf("the comments:\n%q", f.bodies)
	}
	inputs["comment"] = "false"
	if out, _, err = c.runAction(t, m, f, inputs); err != nil || len(f.bodies) != 1 {
		t.Errorf("%d comments, %v\n%s", len(f.bodies), err, out)
	}
	inputs["paths"] = ""
	if out, summary, err = c.runAction(t, m, f, inputs); err != nil || summary != "" ||
		!strings.Contains(out, "agentry v") {
		t.Errorf("without paths: %v\n%s%s", err, out, summary)
	}
}

func TestActionFails(t *testing.T) {
	m, f := newMirror(t), newForge(t)
	c := newChange(t, "interval: 30s", "intreval: 30s")
	inputs := map[string]string{"releases": m.URL + "/releases", "paths": "clusters/my prod"}
	out, _, err := c.runAction(t, m, f, inputs)
	if err == nil || !strings.Contains(out, "::error file=clusters/my prod/team-shop/monitors.yaml,line=") {
		t.Errorf("a mistake: %v\n%s", err, out)
	}
	if len(f.bodies) != 1 || !strings.Contains(f.bodies[0], "intreval") {
		t.Errorf("the comments:\n%q", f.bodies)
	}
	inputs["token"] = "other"
	if out, _, err = c.runAction(t, m, f, inputs); err == nil || !strings.Contains(out, "pull-requests: write") {
		t.Errorf("a token without rights: %v\n%s", err, out)
	}
	inputs["version"] = "v9.9.9"
	if out, _, err = c.runAction(t, m, f, inputs); err == nil ||
		!strings.Contains(out, "v9.9.9/"+archiveName()+" cannot be fetched") {
		t.Errorf("a release that is not: %v\n%s", err, out)
	}
	c.merge = c.base
	delete(inputs, "version")
	if out, _, err = c.runAction(t, m, f, inputs); err == nil ||
		!strings.Contains(out, "HEAD is not the forge's merge commit") {
		t.Errorf("another checkout: %v\n%s", err, out)
	}
}

// gitlabSpec has the fields of the template that GitLab reads.
type gitlabSpec struct {
	Spec struct {
		Inputs map[string]struct {
			Description string
			Default     *string
		}
	}
}

// job is a job of the template.
type job struct {
	Extends      string
	Image, Stage string
	Rules        []map[string]string
	Variables    map[string]string
	BeforeScript []string `yaml:"before_script"`
	Script       []string
}

const gitlabTemplate = root + "/templates/agentry.yml"

// TestTemplateHasTheScripts compares the template with the scripts: GitLab does not fetch files beside it.
func TestTemplateHasTheScripts(t *testing.T) {
	text := string(read(t, gitlabTemplate))
	for _, name := range []string{"install.sh", "review.sh"} {
		var b strings.Builder
		for line := range strings.Lines("(\n" + string(read(t, filepath.Join(root, "dist", "ci", name))) + ")\n") {
			if line != "\n" {
				line = "      " + line
			}
			b.WriteString(line)
		}
		blocks := regexp.MustCompile(`(?s)      \(\n      #!/bin/sh\n.*?\n      \)\n`).FindAllString(text, -1)
		at := map[string]int{"install.sh": 0, "review.sh": 1}[name]
		if len(blocks) != 2 {
			t.Fatalf("%d scripts in the template", len(blocks))
		}
		if *update {
			text = strings.Replace(text, blocks[at], b.String(), 1)
		} else if blocks[at] != b.String() {
			t.Errorf("the template has another %s: run go -C internal/tools/release test -run TestTemplate -update",
				name)
		}
	}
	if *update {
		if err := os.WriteFile(gitlabTemplate, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

// TestComponentReviewsAMergeRequest runs the job like GitLab: it inserts inputs, exports variables, and runs the lines
// of the scripts in one shell.
func TestComponentReviewsAMergeRequest(t *testing.T) {
	m, f := newMirror(t), newForge(t)
	c := newChange(t, "interval: 30s", "interval: 45s")
	inputs := map[string]string{"paths": "clusters/my prod", "releases": m.URL + "/releases"}
	review := readComponent(t, inputs)
	run := func(env ...string) (string, error) {
		t.Helper()
		env = append(env, "CI_PROJECT_DIR="+c.checkout, "CI_MERGE_REQUEST_PROJECT_URL="+f.URL+"/org/monitoring",
			"CI_MERGE_REQUEST_IID=7", "CURL_CA_BUNDLE="+m.trust)
		for name, value := range review.Variables {
			env = append(env, name+"="+strings.ReplaceAll(value, "$CI_PROJECT_DIR", c.checkout))
		}
		return shell(t, c.checkout, env, "bash", "-eo", "pipefail", "-c",
			strings.Join(append(review.BeforeScript, review.Script...), "\n"))
	}
	// A pipeline for the merge result, and one for the branch alone.
	out, err := run("FORGE_TOKEN=s3cret-t0ken", "CI_MERGE_REQUEST_TARGET_BRANCH_SHA="+c.base,
		"CI_MERGE_REQUEST_DIFF_BASE_SHA=0")
	if err != nil || !strings.Contains(out, "scrape_interval: 30s → 45s") || strings.Contains(out, "v0.44.7") ||
		strings.Contains(out, "s3cret") {
		t.Fatalf("%v\n%s", err, out)
	}
	if len(f.bodies) != 1 || !strings.Contains(f.bodies[0], "scrape_interval: 30s → 45s") {
		t.Errorf("the comments:\n%q", f.bodies)
	}
	start := strings.TrimSpace(command(t, c.checkout, "git", "ls-remote", "origin", "refs/heads/topic"))
	if !strings.HasPrefix(start, c.head) {
		t.Fatalf("topic is at %s", start)
	}
	command(t, c.checkout, "git", "fetch", "-q", "--depth=2", "origin", c.head)
	command(t, c.checkout, "git", "checkout", "-q", c.head)
	parent := strings.TrimSpace(command(t, c.checkout, "git", "rev-parse", "HEAD^"))
	if out, err := run("CI_MERGE_REQUEST_DIFF_BASE_SHA=" + parent); err != nil ||
		!strings.Contains(out, "scrape_interval: 30s → 45s") || len(f.bodies) != 1 {
		t.Errorf("%d comments, %v\n%s", len(f.bodies), err, out)
	}
}

// readComponent returns the review job with inputs, and merged with the job that it extends.
func readComponent(t *testing.T, inputs map[string]string) job {
	t.Helper()
	head, body, found := strings.Cut(string(read(t, gitlabTemplate)), "\n---\n")
	var c gitlabSpec
	decoder := yaml.NewDecoder(strings.NewReader(head))
	decoder.KnownFields(true)
	if err := decoder.Decode(&c); err != nil || !found {
		t.Fatalf("no component: %v", err)
	}
	for name, input := range c.Spec.Inputs {
		mark := "$[[ inputs." + name + " ]]"
		if input.Description == "" || input.Default == nil || !strings.Contains(body, mark) {
			t.Errorf("input %s needs a description, a default and a use", name)
			continue
		}
		value, given := inputs[name]
		if !given {
			value = *input.Default
		}
		body = strings.ReplaceAll(body, mark, value)
	}
	var jobs map[string]job
	decoder = yaml.NewDecoder(strings.NewReader(body))
	decoder.KnownFields(true)
	if err := decoder.Decode(&jobs); err != nil || strings.Contains(body, "$[[") {
		t.Fatalf("inputs are not declared, or not the jobs: %v\n%s", err, body)
	}
	review, base := jobs["agentry-review"], jobs[".agentry"]
	if review.Extends != ".agentry" || len(review.Rules) != 1 || base.Image == "" || len(base.BeforeScript) == 0 ||
		len(jobs) != 2 {
		t.Fatalf("other jobs: %+v", jobs)
	}
	review.BeforeScript = base.BeforeScript
	for name, value := range base.Variables {
		review.Variables[name] = value
	}
	return review
}
