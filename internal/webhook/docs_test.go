package webhook

import (
	"crypto/hmac"
	"crypto/sha256"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/agentry-dev/agentry/gitsync"
)

// program tells a process of this test which program it stands in for.
const program = "AGENTRY_TEST_PROGRAM"

func TestMain(m *testing.M) {
	switch os.Getenv(program) {
	case "openssl":
		sign()
	case "curl":
		send()
	default:
		os.Exit(m.Run())
	}
}

// sign is openssl dgst -sha256 -hmac KEY -r.
func sign() {
	text, err := io.ReadAll(os.Stdin)
	if err != nil || !slices.Equal(os.Args[1:4], []string{"dgst", "-sha256", "-hmac"}) || !slices.Equal(os.Args[5:], []string{"-r"}) {
		panic(fmt.Sprint(err, os.Args))
	}
	mac := hmac.New(sha256.New, []byte(os.Args[4]))
	mac.Write(text)
	fmt.Printf("%x *stdin\n", mac.Sum(nil))
}

// send is curl -d BODY -H HEADER URL.
func send() {
	if len(os.Args) != 6 || os.Args[1] != "-d" || os.Args[3] != "-H" {
		panic(fmt.Sprint(os.Args))
	}
	req, err := http.NewRequest(http.MethodPost, os.Args[5], strings.NewReader(os.Args[2]))
	if err != nil {
		panic(err)
	}
	name, value, _ := strings.Cut(os.Args[4], ": ")
	req.Header.Set(name, value)
	answer, err := http.DefaultClient.Do(req)
	if err != nil {
		panic(err)
	}
	_ = answer.Body.Close()
}

// TestDocumentedRequest runs the command of docs/webhooks.md, with the machine's programs as far
// as it has them, and with those of this test.
func TestDocumentedRequest(t *testing.T) {
	manual, err := os.ReadFile(filepath.Join("..", "..", "docs", "webhooks.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, ok := strings.Cut(string(manual), "```sh\n")
	command, _, closed := strings.Cut(rest, "```")
	const host, address = "https://agentry.example.com:9292", "git.example.com/platform/monitoring"
	if !ok || !closed || !strings.Contains(command, host+"/hook/generic/"+address) {
		t.Fatalf("docs/webhooks.md has no request to %s/hook/generic/%s:\n%s", host, address, command)
	}
	path := os.Getenv("PATH")
	for name, path := range map[string]string{"of the machine": path + ":" + standIns(t), "of the test": standIns(t) + ":" + path} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(0, Hook{Type: gitsync.WebhookGeneric, Repository: address, Secrets: [][]byte{[]byte(secret)}})
			server := httptest.NewServer(w)
			defer server.Close()
			for _, secret := range []string{secret, "guessed"} {
				cmd := exec.Command("sh", "-euc", strings.Replace(command, host, server.URL, 1))
				cmd.Env = append(os.Environ(), "SECRET="+secret, "CI_COMMIT_SHA=0123456789abcdef", "PATH="+path)
				if out, err := cmd.CombinedOutput(); err != nil {
					t.Fatalf("%v\n%s", err, out)
				}
			}
			if want := []string{"generic accepted", "generic unauthorized"}; !slices.Equal(w.results, want) || !slices.Equal(w.triggers, []string{address}) {
				t.Errorf("results %q, triggers %q; want %q", w.results, w.triggers, want)
			}
		})
	}
}

// standIns is a folder with programs that are this test.
func standIns(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"curl", "openssl"} {
		script := "#!/bin/sh\nexport " + program + "=" + name + "\nexec '" + os.Args[0] + "' \"$@\"\n"
		if err := os.WriteFile(filepath.Join(dir, name), []byte(script), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}
