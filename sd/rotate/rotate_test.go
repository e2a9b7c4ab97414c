package rotate

import (
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"
)

func TestFilesAreReadAgain(t *testing.T) {
	file := filepath.Join(t.TempDir(), "token")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	synctest.Test(t, func(t *testing.T) {
		var told []error
		write(" first\n")
		token, err := Token(file, func(err error) { told = append(told, err) })
		if err != nil {
			t.Fatal(err)
		}
		expect := func(want string, failures int) {
			t.Helper()
			time.Sleep(Every)
			if got := token.Get(); got != want || len(told) != failures {
				t.Errorf("got %q, want %q, told %v", got, want, told)
			}
		}
		expect("first", 0)
		write("second")
		if got := token.Get(); got != "first" {
			t.Errorf("read again at once: %q", got)
		}
		expect("second", 0)
		write("")
		expect("second", 1)
		expect("second", 1) // Told once.
		if want := file + ": it has no token"; told[0].Error() != want {
			t.Errorf("told %v, want %s", told[0], want)
		}
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
		expect("second", 2)
		write("third")
		expect("third", 2)
	})
}

func TestUnusableFilesAreErrorsAtTheStart(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, []byte("not one\ntoken, nor PEM"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{file, file + ".missing"} {
		if _, err := Token(name, nil); err == nil {
			t.Error("taken as a token")
		}
		if _, err := Pool(name, nil); err == nil {
			t.Error("taken as a pool")
		}
		if _, err := KeyPair(name, name, nil); err == nil {
			t.Error("taken as a key pair")
		}
	}
}
