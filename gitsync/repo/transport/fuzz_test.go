package transport

import (
	"strings"
	"testing"
)

// No URL causes a panic, and no accepted URL shows a password.
func FuzzNormaliseURL(f *testing.F) {
	for _, s := range []string{
		"https://bot:s3cret@h/a", "git@h:a/b.git", "ssh://h:22/a", "/a/b", "file:///a", "bot:s3cret@h:/a", "[::1]:a",
		"//u:s3cret@h/a",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		got, err := NormaliseURL(raw)
		if err != nil {
			return
		}
		again, err := NormaliseURL(got)
		if err == nil && again != got && !strings.HasPrefix(got, "file:") {
			t.Errorf("%q is normalised to %q and then to %q", raw, got, again)
		}
	})
}

func TestRemoteText(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]string{
		"a\r\n\tb  c":               "a b c",
		"token s3cret is bad":       "token *** is bad",
		"\x1b[31mred\x07":           "[31mred",
		"bad \xff byte":             "bad ? byte",
		strings.Repeat("x", 10_000): strings.Repeat("x", maxRemoteText) + " ...",
	} {
		if got := remoteText(raw, []string{"s3cret"}); got != want {
			t.Errorf("%q: got %q, want %q", raw, got, want)
		}
	}
}
