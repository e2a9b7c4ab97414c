package diag

import (
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

const ours = "apiVersion: monitoring.grafana.com/v1alpha1\nkind: Integration\n"

// lastLine is the excerpt of the last line of a text.
func lastLine(text string) (string, bool) {
	return excerpt(Diagnostic{Line: strings.Count(text, "\n") + 1}, text)
}

func excerpt(d Diagnostic, text string) (string, bool) {
	return (&Quoter{Input: func(_, _ string) []byte { return []byte(text) }}).Excerpt(d)
}

func TestLinesThatAreQuoted(t *testing.T) {
	for _, line := range []string{
		"- url: ssh://git@example.com/x",
		"- url: git@example.com:a/b",
		"- url: https://example.com/a",
		"  interval: 30",
		"  relabelings: [{replacement: $1:9100}]",
		"  name: mysql",
		"    redis_addr: redis:6379",
		"  image: grafana/agent@sha256:0123456789abcdef0123456789abcdef",
		"  securityContext: {runAsUser: x}",
		"  selector: {matchLabel: {app: web}}",
	} {
		if got, ok := lastLine(ours + "spec:\n" + line); !ok || got != line {
			t.Errorf("%s: quoted %v, %q", line, ok, got)
		}
	}
}

// TestNoCredentialIsQuoted: hush is the credential.
func TestNoCredentialIsQuoted(t *testing.T) {
	for _, lines := range []string{
		"- url: https://user:hush@example.com/x",
		"- url: https://hush@example.com/x",
		"- url: https://user:hu/sh@example.com/x",
		"- url: ssh://git:hush@example.com/x",
		"- url: https://example.com/?access_token=hush",
		"  proxyUrl: redis://:hush@h",
		"  basicAuth: {password: hush}",
		"  basicAuth: {hush}",
		"  basicAuth:\n    - hush",
		"  basicAuth:\n    username:\n      nmae: hush",
		"  password:\n    hush",
		"  password: |\n    first: line\n    hush",
		"  password: |\nfirst\n\nhush",
		"  {password:\nhush}",
		"  password:\n\n\n  # why\n  hush",
		"  \"password\": [\n\t\"hush\"",
		"  bearerToken: hush",
		"  bearerToken hush",
		"  \"bearerToken\": \"hush\"",
		"  bearerTokenSecret: hush",
		"  headers:\n    x-scope: hush",
		"  regex: Authorization Basic aHVzaA==",
		"  env:\n  - name: X\n    value: hush",
		"  args: [-p, hush]",
		"  config: {pin: hush}",
		"  config:\n    modules:\n      pin: hush",
		"    redis_password: hush",
		`  config: {data_source_name: "u:hush@(mysql:3306)/"}`,
		"    data_source_names: [x]",
		"    community: hush",
		`  "api_token": "hush"`,
		"    priv_password: hush",
		"  regex: 9gHushHushHushHush01", // looks generated
		"  name: a\rpassword: hush",
		"---\napiVersion: v1\nkind: Secret\nstringData:\n  a: hush",
		"---\nkind: secret\nstringData:\n  a: hush",
		"---\nkind: Secrt\nstringData:\n  a: hush",
		"---\napiVersion: v1\nkind: !!str Secret\nstringData:\n  a: hush",
		"---\napiVersion: monitoring.coreos.com/v1\nkind: !!str Secret\nstringData:\n  a: hush",
		"---\nwhat: values\nmysql: hush",
		"items:\n- apiVersion: v1\n  kind: Secret\n  stringData: {a: hush}",
	} {
		if got, ok := lastLine(ours + "spec:\n" + lines); ok {
			t.Errorf("%s\n... is quoted: %q", lines, got)
		}
	}
	if _, ok := excerpt(Diagnostic{Code: LiteralToken, Line: 3}, ours+"x: hush"); ok {
		t.Error("a literal token is quoted")
	}
	if got, ok := excerpt(Diagnostic{Line: 3}, ours+
		"x: hush\nitems: [{apiVersion: v1, kind: Secret}]\n"); ok {
		t.Errorf("a line of a document with a Secret is quoted: %q", got)
	}
}

// TestContextOfALine compares the index with what it stands for: a look at every line above.
func TestContextOfALine(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	parts := []string{"\n", "\n", " ", "  ", "- ", "a: b", "text", "---", "---\nkey:", "\t", "\r\n", "x:\n"}
	for range 5000 {
		var b strings.Builder
		for range random.IntN(40) {
			b.WriteString(parts[random.IntN(len(parts))])
		}
		text := b.String()
		l := indexed([]byte(text))
		all := strings.Split(text, "\n")
		first := 0
		for i, line := range all {
			if strings.HasPrefix(line, "---") {
				first = i
			}
			var want []string
			depth, inText := indentation([]byte(line)), true
			for _, above := range slices.Backward(all[first:i]) {
				at := indentation([]byte(above))
				if strings.TrimSpace(above) == "" || !inText && at >= depth {
					continue
				}
				want, depth = append(want, above), min(at, depth)
				inText = inText && !strings.Contains(above, ":")
			}
			var got []string
			for _, above := range l.context(i) {
				got = append(got, string(above))
			}
			if string(l.at(i)) != line || !slices.Equal(got, want) {
				t.Fatalf("line %d of %q is %q with context %q, want %q", i+1, text, l.at(i), got, want)
			}
		}
	}
}

// TestAFileIsReadOnce for all findings about it, whatever their number.
func TestAFileIsReadOnce(t *testing.T) {
	read := map[string]int{}
	printer := Text{Input: func(_, file string) []byte {
		read[file]++
		return []byte(ours + "spec:\n  interval: 30\n")
	}}
	var list List
	for i := range 30 {
		list.Add(Diagnostic{File: []string{"a", "b", "c"}[i/10], Line: i%10 + 1})
	}
	if err := printer.Print(io.Discard, list); err != nil || read["a"] != 1 || read["b"] != 1 || read["c"] != 1 {
		t.Error(read, err)
	}
}

func TestExcerptLimit(t *testing.T) {
	for length, want := range map[int]bool{maxExcerptBytes: true, maxExcerptBytes + 1: false} {
		if _, ok := lastLine(ours + strings.Repeat("x", length)); ok != want {
			t.Errorf("a line of %d bytes: quoted is %v, want %v", length, ok, want)
		}
	}
}

func TestMayQuote(t *testing.T) {
	for _, test := range []struct {
		path, text string
		want       bool
	}{
		{"spec.endpoints[0].interval", "30", true},
		{"spec.endpoints[0].port", "8080", true},
		{"spec.securityContext.runAsUser", "x", true},
		{"spec.remoteWrite[0].bearerToken", "918273645", false},
		{"spec.remoteWrite[0].headers[x]", "918273645", false},
		{"spec.config.redis_password", "918273645", false},
		{"spec.metrics.basicAuth.password", "x", false},
		{"spec.remoteWrite[0].url", "https://u:p@h", false},
	} {
		if got := MayQuote(test.path, test.text); got != test.want {
			t.Errorf("%s %s: %v", test.path, test.text, got)
		}
	}
}
