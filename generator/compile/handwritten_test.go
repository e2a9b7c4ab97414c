package compile

import (
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/agentry-dev/agentry/generator/model"
)

func TestVariables(t *testing.T) {
	for text, c := range map[string]struct {
		want string
		ok   bool
	}{
		"":                    {"", true},
		"$":                   {"", true},
		"a $1 ${1} $name":     {"", true},
		"$(A)-${B}":           {"$(A) ${B}", true},
		"$$(A)":               {"$(A)", true}, // the reloader has no escape
		"$${A}":               {"", true},
		"$$${A}":              {"${A}", true},
		"${A:-x} ${B=y}":      {"", true},
		"${#A} ${B^} ${C/x/}": {"${A} ${B} ${C}", true},
		"$(A-B) $()":          {"", true},
		"${a-b}":              {"", false},
		"${A":                 {"", false},
		"${}":                 {"", false},
		"${A:-x":              {"", false},
		"${":                  {"", false},
	} {
		found, ok := variables(text)
		var names []string
		for _, v := range found {
			names = append(names, v.text)
		}
		if got := strings.Join(names, " "); got != c.want || ok != c.ok {
			t.Errorf("%q: %q, %t; want %q, %t", text, got, ok, c.want, c.ok)
		}
	}
}

// FuzzParseJobs holds that no text panics or makes an error that quotes it, and that what
// is read can be written and read again.
func FuzzParseJobs(f *testing.F) {
	for _, seed := range []string{"", "- a: b", "- &a {x: *a}", "- <<: [{a: 1}, {b: 2}]", "- a: |\n    x\u2028y\n",
		"[[[[", "- !!binary aGk=", "? [a]\n: b", "- {<<: 1}", "--- \n- {a: ~}\n---\n- b",
		"- a: [b\n- c: d", "- a: *b\n- &b c"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		items, _, bad := parseJobs([]byte(text))
		if bad != nil {
			if bad.Line < 0 || strings.ContainsAny(bad.Message, "`\"") {
				t.Errorf("line %d: %s", bad.Line, bad.Message)
			}
			return
		}
		for _, item := range items {
			raw, err := encodeNode(item)
			if err != nil {
				continue
			}
			again, _, bad := parseJobs([]byte("- " +
				strings.ReplaceAll(strings.TrimSuffix(string(raw), "\n"), "\n", "\n  ")))
			if bad != nil || len(again) > 1 {
				t.Errorf("%q became %q: %v", text, raw, bad)
			}
		}
	})
}

// TestHide holds that reviewers see no credential of a hand-written scrape configuration.
func TestHide(t *testing.T) {
	const text = `job_name: x
basic_auth:
  username: me
  password: hush
bearer_token: hush
bearer_token_file: /token
azure_sd_configs:
  - client_secret: hush
    access_key: seen
static_configs:
  - targets:
      - a
`
	items, _, bad := parseJobs([]byte("- " + strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n  ")))
	if bad != nil {
		t.Fatal(bad)
	}
	raw := handWritten{}.encode(items, func(*model.Raw) {})[0]
	if string(raw.Text) != text {
		t.Errorf("changed:\n%s", raw.Text)
	}
	if want := strings.ReplaceAll(text, "hush", `"<redacted>"`); string(raw.Redacted) != want {
		t.Errorf("shown:\n%s", raw.Redacted)
	}
	items, _, _ = parseJobs([]byte("- {job_name: x, bearer_token_file: /token}"))
	if raw := (handWritten{}).encode(items, func(*model.Raw) {})[0]; raw.Redacted != nil {
		t.Errorf("nothing to hide: %s", raw.Redacted)
	}
}

func TestRedacted(t *testing.T) {
	const text = `
job_name: a
proxy_url: http://user:hush@proxy
basic_auth: {username: u, password: hush}
authorization: {credentials: 1234hush}
static_configs: [{targets: ["http://user:hush@h"], labels: {key: hush, url: "http://h/x"}}]
sigv4: {access_key: id, secret_key: hush}
`
	var document yaml.Node
	if err := yaml.Unmarshal([]byte(text), &document); err != nil {
		t.Fatal(err)
	}
	node, hides := redacted(&document, false)
	shown, err := yaml.Marshal(node)
	if err != nil || !hides || strings.Contains(string(shown), "hush") ||
		!strings.Contains(string(shown), "http://h/x") || !strings.Contains(string(shown), "access_key: id") {
		t.Errorf("%v %v\n%s", hides, err, shown)
	}
}

// TestReviewersSeeNoParameterThatIsACredential, which the agent itself does not mask.
func TestReviewersSeeNoParameterThatIsACredential(t *testing.T) {
	const text = "job_name: a\nparams:\n  token:\n    - hush\n  module:\n    - m\nrelabel_configs:\n" +
		"  - target_label: __param_api_key\n    replacement: hush\n  - target_label: __param_token\n" +
		"    replacement: $1\n"
	items, _, bad := parseJobs([]byte("- " + strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n  ")))
	if bad != nil {
		t.Fatal(bad)
	}
	raw := handWritten{}.encode(items, func(*model.Raw) {})[0]
	if want := strings.NewReplacer("\n    - hush", ` "<redacted>"`, "hush",
		`"<redacted>"`).Replace(text); string(raw.Shown) != want || raw.Redacted != nil {
		t.Errorf("%s\nwhile the agent masks %s", raw.Shown, raw.Redacted)
	}
}
