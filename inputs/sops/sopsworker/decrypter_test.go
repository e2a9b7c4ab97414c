package sopsworker

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/inputs/sops"
	"github.com/agentry-dev/agentry/internal/worker"
	"github.com/agentry-dev/agentry/test/testworker"
)

// counted returns workers that write a line for each process that they start.
func counted(t *testing.T) (workers *sops.Workers, started func() int) {
	t.Helper()
	log := filepath.Join(t.TempDir(), "started")
	w := sops.NewWorkers(sops.Options{Command: []string{"/bin/sh", "-c", `echo >> "$0"; exec "$1"`, log, os.Args[0]},
		Env: testworker.Env(), Limits: testLimits()})
	t.Cleanup(w.Close)
	return w, func() int {
		text, _ := os.ReadFile(log)
		return strings.Count(string(text), "\n")
	}
}

func setOf(files map[string]string) *manifest.Set {
	var results []manifest.Result
	for name, text := range files {
		results = append(results, manifest.Parse(manifest.File{Path: name, Data: []byte(text)}, manifest.Options{}))
	}
	return manifest.NewSet(results...)
}

func id(name string) manifest.ID {
	return manifest.ID{Kind: "Secret", Namespace: "shop", Name: name}
}

func TestOpenerDecryptsWhatIsWantedOnce(t *testing.T) {
	p := newPerson(t)
	text := func(name, password string) string {
		return strings.NewReplacer("name: db", "name: "+name, "hunter2-hunter2", password).Replace(secret)
	}
	two := string(seal(t, sops.YAML, text("a", "one")+"---\n"+text("b", "two"), p.toAge(t)))
	files := map[string]string{
		"two.yaml": two,
		"c.json": string(seal(t, sops.JSON,
			`{"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "c", "namespace": "shop"}, "data": {"password": "dGhyZWU="}}`, p.toAge(t))),
		"other.yaml": string(seal(t, sops.YAML, text("other", "x"), newPerson(t).toAge(t))),
		"bad.yaml": string(seal(t, sops.YAML, strings.Replace(text("bad", "x"), "stringData", "data", 1),
			p.toAge(t))),
	}
	set := setOf(files)
	workers, started := counted(t)
	decrypter := sops.Decrypter{Workers: workers, Keys: []sops.Key{p.age}}
	if _, _, err := decrypter.Decrypt(t.Context(), set, nil); err != nil || started() != 0 {
		t.Fatalf("nothing is wanted: got %v, %d processes", err, started())
	}
	wanted := []manifest.ID{id("a"), id("b"), id("bad"), id("c"), id("other")}
	got, found, err := decrypter.Decrypt(t.Context(), set, wanted)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"a": "one", "b": "two", "c": "three"} {
		o := got.Get(id(name))
		if o == nil || string(manifest.As[corev1.Secret](o).Data["password"]) != want {
			t.Errorf("%s: got %+v", name, o)
			continue
		}
		if strings.Contains(o.Text(), want) || !strings.Contains(o.Text(), "ENC[") {
			t.Errorf("%s: the text of the object is %s", name, o.Text())
		}
	}
	if line, _ := got.Get(id("b")).Position("stringData"); line < 5 {
		t.Errorf("a finding about the second document would stand in line %d", line)
	}
	if problem := got.Named()[id("other")].Problem; !strings.HasPrefix(problem, "none of the keys decrypts it") {
		t.Errorf("got %q", problem)
	}
	if problem := got.Named()[id("bad")].Problem; got.Get(id("bad")) != nil || problem == "" || len(found) == 0 ||
		strings.Contains(fmt.Sprint(found), "hunter") {
		t.Errorf("got %q, %v", problem, found)
	}
	if !decrypter.IsIncomplete() {
		t.Error("a file that cannot be decrypted is tried again")
	}
	again, _, err := decrypter.Decrypt(t.Context(), set, wanted[:3])
	if err != nil || again.Get(id("a")) != got.Get(id("a")) || again.Get(id("c")) != nil {
		t.Errorf("got %v, %p instead of %p", err, again.Get(id("a")), got.Get(id("a")))
	}
	if started() != 1 {
		t.Errorf("%d processes were started", started())
	}
	decrypter.Keys = []sops.Key{newPerson(t).age}
	if now, _, err := decrypter.Decrypt(t.Context(), set, wanted[:1]); err != nil || now.Get(id("a")) != nil {
		t.Errorf("with another key: got %v, %v", err, now.Get(id("a")))
	}
}

func TestWithoutTheProgram(t *testing.T) {
	t.Setenv("PATH", "")
	w := sops.NewWorkers(sops.Options{})
	defer w.Close()
	got, err := w.Decrypt(t.Context(), nil, make([]sops.File, 2))
	if err != nil || len(got) != 2 ||
		!strings.Contains(got[1].Reason, "agentry-sops: install it beside agentry") {
		t.Errorf("got %v, %+v", err, got)
	}
}

// TestCheck reads keys that are usable and keys that are not, and quotes neither.
func TestCheck(t *testing.T) {
	keys := []sops.Key{newPerson(t).age, {Name: "decryption.keyFile", Text: []byte("AGE-SECRET-KEY-hunter2")},
		{Name: "the key b.asc", Text: []byte("-----BEGIN PGP hunter2")}}
	got, err := newTestWorkers(t).Check(t.Context(), keys)
	want := []string{"decryption.keyFile holds no identity of age, no SSH key and no PGP key",
		"the key b.asc holds no armoured private PGP key"}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("got %q, %v", got, err)
	}
	if got, err := newTestWorkers(t).Check(t.Context(), keys[:1]); err != nil || len(got) > 0 {
		t.Errorf("a usable key: %q, %v", got, err)
	}
	t.Setenv("PATH", "")
	missing := sops.NewWorkers(sops.Options{})
	if _, err := missing.Check(t.Context(), keys); !isMissing(err) {
		t.Errorf("without the program: %v", err)
	}
}

func isMissing(err error) bool {
	_, ok := errors.AsType[*worker.Missing](err)
	return ok
}

func TestAWorkerThatEndsConcernsNoOtherFile(t *testing.T) {
	p := newPerson(t)
	good := sops.File{Format: sops.YAML, Data: seal(t, sops.YAML, secret, p.toAge(t))}
	bomb := "a: &a [x, x, x, x, x, x, x, x, x, x]\n"
	for i := 'b'; i < 'k'; i++ {
		a := string(i - 1)
		bomb += string(i) + ": &" + string(i) + " [" + strings.TrimSuffix(strings.Repeat("*"+a+", ", 10), ", ") + "]\n"
	}
	broken := sops.File{Format: sops.YAML,
		Data: []byte(bomb + "sops: {mac: x, lastmodified: '2026-01-01T00:00:00Z', version: 3.9.0}\n")}
	got, err := newTestWorkers(t).Decrypt(t.Context(), []sops.Key{p.age}, []sops.File{good, broken, good})
	if err != nil || got[0].Reason != "" || got[1].Reason == "" || got[2].Reason != "" {
		t.Errorf("got %v, %q, %q, %q", err, got[0].Reason, got[1].Reason, got[2].Reason)
	}
	killed := sops.NewWorkers(sops.Options{Command: []string{"/bin/sh", "-c", "kill -9 $$"}})
	defer killed.Close()
	if got, err := killed.Decrypt(t.Context(), nil, []sops.File{good, good}); err != nil ||
		!strings.HasPrefix(got[1].Reason, "decrypting it needs more memory than there is") {
		t.Errorf("got %v, %+v", err, got)
	}
}

// TestASlowServerOfKeysConcernsNoOtherFile: one that takes connections and says nothing.
func TestASlowServerOfKeysConcernsNoOtherFile(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	p := newPerson(t)
	good := sops.File{Format: sops.YAML, Data: seal(t, sops.YAML, secret, p.toAge(t))}
	at := "http://" + l.Addr().String()
	slow := sops.File{Format: sops.YAML,
		Data: []byte("data: {a: b}\nsops:\n  mac: x\n  lastmodified: '2026-01-01T00:00:00Z'\n  version: 3.9.0\n" +
			"  hc_vault:\n    - {vault_address: '" + at +
			"', engine_path: transit, key_name: k, created_at: '2026-01-01T00:00:00Z', enc: 'vault:v1:x'}\n")}
	begun := time.Now()
	got, err := newTestWorkers(t, "VAULT_ADDR="+at, "VAULT_TOKEN=x").Decrypt(t.Context(), []sops.Key{p.age},
		[]sops.File{slow, good})
	if err != nil || !strings.Contains(got[0].Reason, "do not answer in time") || got[1].Reason != "" {
		t.Errorf("got %v, %q, %q after %s", err, got[0].Reason, got[1].Reason, time.Since(begun))
	}
}

// FuzzOpen: nothing that a file says makes the library decrypt it without a key, or stop by more than a fault of its
// own.
func FuzzOpen(f *testing.F) {
	f.Add([]byte(secret))
	f.Add([]byte("sops: {mac: x, lastmodified: '2026-01-01T00:00:00Z', version: 3.9.0, age: [{recipient: a, enc: b}]}\n"))
	keys := readKeys([]sops.Key{{Name: "none", Text: []byte("x")}})
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, format := range []sops.Format{sops.YAML, sops.JSON, sops.Dotenv, sops.Binary} {
			got := withDeadline(time.Now().Add(10*time.Second), func() sops.Decrypted {
				return keys.decrypt(sops.File{Format: format, Data: data})
			},
				func(reason string) sops.Decrypted { return sops.Decrypted{Reason: reason} })
			if got.Reason == "" || got.Data != nil {
				t.Errorf("something was decrypted without a key: %q", got.Data)
			}
		}
	})
}
