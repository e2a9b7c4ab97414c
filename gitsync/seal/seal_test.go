package seal

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/quick"

	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/inputs/sops"
	"github.com/agentry-dev/agentry/inputs/sops/sopsworker"
	"github.com/agentry-dev/agentry/test/testworker"
)

func TestMain(m *testing.M) {
	testworker.Main(m, func(in io.Reader, out io.Writer) int { return sopsworker.Serve(in, out, sops.Limits{}) })
}

// The recipients. The first one is the recipient in the testdata of package sops.
func recipients(t *testing.T) sops.Recipients {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "inputs", "sops", "testdata", "age.agekey"))
	if err != nil {
		t.Fatal(err)
	}
	_, after, _ := strings.Cut(string(text), "public key: ")
	return sops.Recipients{Age: []string{strings.Fields(after)[0]}}
}

const other = "age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kg5sfn9aqmcac8p"

// sealing is a sealer with its recipients.
type sealing struct {
	*Sealer
	to sops.Recipients
}

func newSealer(t *testing.T, key string, to sops.Recipients) sealing {
	t.Helper()
	w := sops.NewWorkers(sops.Options{Command: testworker.Command(), Env: testworker.Env()})
	t.Cleanup(w.Close)
	return sealing{New(w, []byte(key)), to}
}

func id(name string) manifest.ID { return manifest.ID{Kind: "Secret", Namespace: "a", Name: name} }

func manifestOf(name, value string) string {
	return fmt.Sprintf("apiVersion: v1\nkind: Secret\nmetadata:\n  name: %s\n  namespace: a\nstringData:\n"+
		"  password: %q\n", name, value)
}

// seal seals one Secret beside a known file.
func one(t *testing.T, s sealing, name, value string, known ...[]byte) Sealed {
	t.Helper()
	out, err := s.Seal(t.Context(),
		[]Secret{{id(name), s.to, []byte(manifestOf(name, value)), func() ([][]byte, error) {
			return known, nil
		}}}, false)
	if err != nil {
		t.Fatal(err)
	}
	return out[0]
}

const key = "0123456789abcdef0123456789abcdef"

func TestAFileStaysUnlessSomethingOfItChanges(t *testing.T) {
	to := recipients(t)
	first := one(t, newSealer(t, key, to), "db", "canary-1")
	if first.State != Fresh || bytes.Contains(first.Data, []byte("canary")) {
		t.Fatalf("got %d, %s", first.State, first.Data)
	}
	both := sops.Recipients{Age: append([]string{other}, to.Age...)}
	c, rest, _ := parse(first.Data)
	forged := comment{key: c.key, recipients: digestOf(both), mac: c.mac}
	for name, c := range map[string]struct {
		sealer     sealing
		name, text string
		known      []byte
		want       State
	}{
		"another replica":      {newSealer(t, key, to), "db", "canary-1", first.Data, Kept},
		"another value":        {newSealer(t, key, to), "db", "canary-2", first.Data, Fresh},
		"another object":       {newSealer(t, key, to), "copy", "canary-1", first.Data, Fresh},
		"another key":          {newSealer(t, strings.ToUpper(key), to), "db", "canary-1", first.Data, Fresh},
		"another recipient":    {newSealer(t, key, both), "db", "canary-1", first.Data, Renewed},
		"changed ciphertext":   {newSealer(t, key, to), "db", "canary-1", append(bytes.Clone(first.Data), '\n'), Fresh},
		"forged recipients":    {newSealer(t, key, both), "db", "canary-1", append(forged.line(), rest...), Fresh},
		"a comment is missing": {newSealer(t, key, to), "db", "canary-1", rest, Fresh},
		"in clear":             {newSealer(t, key, to), "db", "canary-1", []byte(manifestOf("db", "canary-1")), Fresh},
	} {
		got := one(t, c.sealer, c.name, c.text, c.known)
		if got.State != c.want || (got.State == Kept) != bytes.Equal(got.Data, first.Data) {
			t.Errorf("%s: %d, want %d", name, got.State, c.want)
		}
		if again := one(t, c.sealer, c.name, c.text, got.Data); again.State != Kept ||
			!bytes.Equal(again.Data, got.Data) {
			t.Errorf("%s: not kept the next time", name)
		}
	}
}

// TestEqualSecretsCannotBeRecognised: nothing but names and metadata of SOPS is equal in two sealed files.
func TestEqualSecretsCannotBeRecognised(t *testing.T) {
	s := newSealer(t, key, recipients(t))
	a, _, _ := parse(one(t, s, "a", "same").Data)
	b, _, _ := parse(one(t, s, "b", "same").Data)
	again, _, _ := parse(one(t, newSealer(t, key, recipients(t)), "a", "same").Data)
	if a.mac == b.mac || a.mac == again.mac || a.recipients != b.recipients {
		t.Error("MACs of equal values are equal")
	}
	if s.Sum("x", id("a"), "1") == s.Sum("x", id("b"), "1") || s.Sum("x", id("a"), "1") == s.Sum("y", id("a"), "1") {
		t.Error("checksums of two objects can be compared")
	}
}

func TestOrderOfRecipientsIsNoChange(t *testing.T) {
	to := recipients(t)
	if digestOf(sops.Recipients{Age: []string{other, to.Age[0], other}}) !=
		digestOf(sops.Recipients{Age: []string{to.Age[0], other}}) {
		t.Error("an order or a double counts")
	}
	if digestOf(sops.Recipients{KMS: []string{"a"}}) == digestOf(sops.Recipients{Vault: []string{"a"}}) {
		t.Error("a kind does not count")
	}
}

func TestWithoutTheProgramNothingIsWritten(t *testing.T) {
	t.Setenv("PATH", "")
	s := New(sops.NewWorkers(sops.Options{}), []byte(key))
	secret := Secret{id("db"), recipients(t), []byte(manifestOf("db", "canary")), func() ([][]byte, error) {
		return nil, nil
	}}
	out, err := s.Seal(t.Context(), []Secret{secret}, false)
	if err == nil || !strings.Contains(err.Error(), "install it beside agentry") || out != nil {
		t.Errorf("got %v, %v", out, err)
	}
	dry, err := s.Seal(t.Context(), []Secret{secret}, true)
	if err != nil || dry[0].State != Unwritten || bytes.Contains(dry[0].Data, []byte("canary")) ||
		!bytes.Contains(dry[0].Data, []byte(Placeholder)) {
		t.Errorf("dry: %v, %+v", err, dry)
	}
}

func TestRedact(t *testing.T) {
	for text, want := range map[string]string{
		"kind: Secret\ndata: {a: canary} # canary\nstringData:\n  # canary\n  b: canary\n": "kind: Secret\ndata: {a: <encrypted on the output branch>}\nstringData:\n  b: <encrypted on the output branch>\n",
		"data: canary\n": "data: <encrypted on the output branch>\n",
		"data: [canary":  "# <encrypted on the output branch>\n",
		"- canary\n":     "# <encrypted on the output branch>\n",
	} {
		if got := string(Redact([]byte(text))); strings.Contains(got, "canary") || got != want {
			t.Errorf("%q: got %q", text, got)
		}
	}
	err := quick.Check(func(value string) bool {
		return len(value) < 4 || !bytes.Contains(Redact([]byte(manifestOf("a", value))), []byte(value))
	}, nil)
	if err != nil {
		t.Error(err)
	}
}

// FuzzParse checks that a parsed comment is written in the same way, and that a file made without the key never
// matches.
func FuzzParse(f *testing.F) {
	f.Add(append(comment{}.line(), "kind: Secret\n"...))
	f.Add([]byte(head))
	f.Add(bytes.ToUpper(comment{mac: sum{0xab}}.line()))
	s := New(nil, []byte(key))
	f.Fuzz(func(t *testing.T, file []byte) {
		if c, rest, ok := parse(file); ok && !bytes.Equal(append(c.line(), rest...), file) {
			t.Errorf("%q is read as %q", file, c.line())
		}
		if out := s.find(Secret{ID: id("a"), Clear: []byte("x")}, [][]byte{file}); out.State != Fresh {
			t.Errorf("%q fits", file)
		}
	})
}

func TestIsClear(t *testing.T) {
	for text, want := range map[string]bool{
		"kind: Secret\n":          false,
		"data: {}\nstringData:\n": false,
		"data: {a: 'ENC[AES256_GCM,data:x]'}\nsops: {mac: a}\n":            false,
		"data: {a: 'ENC[AES256_GCM,data:x]', b: canary}\nsops: {mac: a}\n": true,
		"data: {a: canary}\nsops: {mac: a}\n":                              true,
		"data: {a: ['ENC[x]']}\n":                                          true,
		"stringData: &a {b: 'ENC[x]', c: canary}\ndata: *a\n":              true,
		"x: &a {data: {b: canary}}\n<<: *a\n":                              true,
		"data: canary\n":                                                   true,
		"data: [":                                                          true,
	} {
		if got := IsClear([]byte(text)); got != want {
			t.Errorf("%q: got %t", text, got)
		}
	}
}

// FuzzRedact checks that no value is left of any file.
func FuzzRedact(f *testing.F) {
	for _, text := range []string{manifestOf("a", "x"), "data: {a: &a b, c: *a}\n", "data: {a: b}\nsops: {mac: a}\n",
		"? data\n: a: b # c\n", "data: &a {a: *a}\n", "a: &a {data: {b: c}}\n<<: *a\n", "\"data\": !!binary YQ==\n"} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		IsClear(text)
		root, err := read(Redact(text))
		for i := 0; err == nil && i+1 < len(root.Content); i += 2 {
			switch name := root.Content[i].Value; {
			case name == "sops":
				t.Errorf("%q: what SOPS adds is left", text)
			case isField(name):
				for n := 1; n < len(root.Content[i+1].Content); n += 2 {
					if value := root.Content[i+1].Content[n].Value; value != Placeholder {
						t.Errorf("%q: %q is left", text, value)
					}
				}
			}
		}
	})
}
