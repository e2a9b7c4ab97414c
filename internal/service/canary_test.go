package service

import (
	"encoding/base64"
	"fmt"
	"html"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/agentry-dev/agentry/inputs/sops"
	"github.com/agentry-dev/agentry/inputs/sops/sopsworker"
)

// sopsEnv makes this test binary act as the encryption program.
const sopsEnv = "AGENTRY_TEST_SOPS"

func TestMain(m *testing.M) {
	if os.Getenv(sopsEnv) != "" {
		os.Exit(sopsworker.Serve(os.Stdin, os.Stdout, sops.Limits{}))
	}
	os.Exit(m.Run())
}

// link matches the links of a page.
var link = regexp.MustCompile(`(?:href|action)="(/[^"]*)"`)

// visit follows all links from some pages, and returns the pages by address.
func (w *testbed) visit(from ...string) map[string]string {
	w.t.Helper()
	pages := map[string]string{}
	for len(from) > 0 {
		at := from[0]
		from = from[1:]
		page, _, _ := strings.Cut(at, "#")
		if _, known := pages[page]; known {
			continue
		}
		answer, err := http.Get(w.admin + page)
		if err != nil {
			w.t.Fatal(err)
		}
		text, err := io.ReadAll(answer.Body)
		if err != nil {
			w.t.Fatal(err)
		}
		_ = answer.Body.Close()
		pages[page] = string(text)
		for _, m := range link.FindAllStringSubmatch(string(text), -1) {
			from = append(from, html.UnescapeString(m[1]))
		}
	}
	return pages
}

// canaryForms returns the forms in which a secret of testdata/canary.yaml could appear, plain and in base64.
func canaryForms() []string {
	const canary = "c4nary"
	forms := []string{canary}
	for shift := range 3 {
		encoded := base64.RawStdEncoding.EncodeToString([]byte("xxx"[:shift] + canary))
		forms = append(forms, encoded[(shift*8+5)/6:(shift+len(canary))*8/6])
	}
	return forms
}

// TestNoPageShowsASecret: every field that may contain a secret does, in pipelines of both runtimes and all secrets
// policies. No page of the console, API response, metric, log line, commit message or note contains one.
func TestNoPageShowsASecret(t *testing.T) {
	programs := t.TempDir()
	write(t, filepath.Join(programs, sops.Program), fmt.Sprintf("#!/bin/sh\n%s=1 exec '%s'\n", sopsEnv, os.Args[0]))
	if err := os.Chmod(filepath.Join(programs, sops.Program), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", programs+string(os.PathListSeparator)+os.Getenv("PATH"))
	input, err := os.ReadFile("testdata/canary.yaml")
	if err != nil {
		t.Fatal(err)
	}
	w := newTestbed(t)
	r := overHTTP(t)
	key := filepath.Join(w.folder, "hmac.key")
	write(t, key, strings.Repeat("0123456789abcdef", 2))
	policies := map[string]string{
		"reference": "", "plaintext": "",
		"sops": fmt.Sprintf(
			", sops: {age: [age1ntlta7qz3rymfmv7ajrgk3ld0jehyu4d3jzfg5e0rq0rt6clvgmstha592], hmacKeyFile: %s}", key),
	}
	var names []string
	for _, runtime := range []string{"agent", "alloy"} {
		for policy, more := range policies {
			name := runtime + "-" + policy
			names = append(names, name)
			w.pipeline(name, r.url, "")
			file := filepath.Join(w.config, name+".yaml")
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			write(t, file, fmt.Sprintf("%s  runtime: %s\n  secrets: {policy: %s%s}\n", text, runtime, policy, more))
		}
	}
	r.Commit("main", map[string]string{"in/all.yaml": string(input)})
	w.start()
	done := func(word string) {
		t.Helper()
		for _, name := range names {
			w.until(name+" has rendered "+word, func() bool {
				s := w.states()[name]
				isWritten := !strings.HasSuffix(name, "-reference") // where errors prevent the first commit
				return s.LastPass != nil && s.LastPass.Error == "" &&
					(!isWritten || s.Output.Commit != "" && s.Output.Commit == r.Head("env/"+name)) &&
					len(s.Sources) > 0 && strings.HasSuffix(s.Sources[0].Commit, r.Head("main"))
			})
		}
	}
	done("the first input")
	// The change is shown too.
	r.Commit("main", map[string]string{"in/all.yaml": strings.ReplaceAll(strings.ReplaceAll(string(input), "-one",
		"-two"), "http://mimir/first", "http://mimir/1")})
	w.trigger(names...)
	done("the second one")

	from := []string{"/", "/remotes", "/metrics", "/api/v1/pipelines", "/api/v1/remotes"}
	for _, name := range names {
		page, api := "/pipelines/"+name, "/api/v1/pipelines/"+name
		from = append(from, page, page+"/hierarchy", page+"/commits", page+"/output/", api, api+"/objects?q=shop")
		for _, kind := range []string{"ServiceMonitor", "ScrapeConfig", "Secret", "Integration", "Probe",
			"MetricsInstance", "LogsInstance", "GrafanaAgent"} {
			from = append(from, page+"/hierarchy?q="+kind)
		}
		for _, object := range regexp.MustCompile(`(?m)^kind: (\S+)\nmetadata: \{name: ([^,]+),`).FindAllStringSubmatch(
			string(input), -1) {
			from = append(from, api+"/explain?"+url.Values{"object": {object[1] + "/shop/" + object[2]}}.Encode())
		}
	}
	pages := w.visit(from...)
	for _, runtime := range []string{"agent", "alloy"} {
		page := pages["/pipelines/"+runtime+"-plaintext/output/shop/agent/agent-config.secret.yaml"]
		if !strings.Contains(page, "by-hand") || !strings.Contains(page, "&lt;redacted&gt;") {
			t.Errorf("%s: the test sees no configuration in\n%s", runtime, page)
		}
	}
	texts := map[string]string{"messages of commits": r.Git("log", "--all", "--format=%B%N")}
	for _, ref := range strings.Fields(r.Git("for-each-ref", "--format=%(refname)", "refs/notes")) {
		texts[ref] = r.Git("log", "-p", ref)
	}
	w.end()
	for range len(w.lines) {
		texts["the log"] += fmt.Sprintln(<-w.lines)
	}
	for at, text := range pages {
		texts[at] = text
	}
	t.Logf("%d pages and texts", len(texts))
	for at, text := range texts {
		for _, form := range canaryForms() {
			for line := range strings.Lines(text) {
				if strings.Contains(line, form) {
					t.Errorf("%s shows a secret: %.300s", at, line)
				}
			}
		}
	}
}
