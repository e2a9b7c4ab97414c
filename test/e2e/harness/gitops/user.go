package gitops

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// User is somebody with a clone of the forge's repository, who works on main.
type User struct {
	// Dir is the clone.
	Dir string
}

// NewUser clones the repository.
func (f *Forge) NewUser(t *testing.T) *User {
	t.Helper()
	u := &User{Dir: t.TempDir()}
	Git(t, u.Dir, "clone", "-q", f.URL("dev"), ".")
	return u
}

// Write writes a file.
func (u *User) Write(t *testing.T, file, text string) {
	t.Helper()
	path := filepath.Join(u.Dir, file)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// Edit replaces a text in a file, once.
func (u *User) Edit(t *testing.T, file, before, after string) {
	t.Helper()
	path := filepath.Join(u.Dir, file)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(text), before) {
		t.Fatalf("%s does not hold %q", file, before)
	}
	u.Write(t, file, strings.Replace(string(text), before, after, 1))
}

// Remove deletes a file.
func (u *User) Remove(t *testing.T, file string) {
	t.Helper()
	if err := os.Remove(filepath.Join(u.Dir, file)); err != nil {
		t.Fatal(err)
	}
}

// Push commits what the user has changed, and returns the commit.
func (u *User) Push(t *testing.T, message string) string {
	t.Helper()
	Git(t, u.Dir, "add", "--all")
	Git(t, u.Dir, "commit", "-q", "--allow-empty", "-m", message)
	Git(t, u.Dir, "push", "-q", "origin", "HEAD:main")
	return strings.TrimSpace(Git(t, u.Dir, "rev-parse", "HEAD"))
}
