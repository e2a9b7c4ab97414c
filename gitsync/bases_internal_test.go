package gitsync

import (
	"testing"

	"github.com/agentry-dev/agentry/gitsync/pipeline"
)

// TestEncodedSlashesStay in the URLs of files, unless the path leads up.
func TestEncodedSlashesStay(t *testing.T) {
	t.Parallel()
	b := newBases(pipeline.Build{}, &Options{AnyRemote: true})
	if err := b.use([]pipeline.Remote{{URL: "https://git.example.com/api/"}}, nil); err != nil {
		t.Fatal(err)
	}
	for raw, want := range map[string]string{
		"https://git.example.com/api/v4/projects/o%2Fr/files/a%2Fx.yaml/raw?ref=main": "https://git.example.com/" +
			"api/v4/projects/o%2Fr/files/a%2Fx.yaml/raw?ref=main",
		"https://other.example.com/projects/o%2fr/x.yaml": "https://other.example.com/projects/o%2fr/x.yaml",
		"https://git.example.com/api/a%2F..%2F..%2Fother": "https://git.example.com/other",
		"https://git.example.com/api/..%2fother/x.yaml":   "https://git.example.com/other/x.yaml",
		"https://git.example.com/api/o/r.git":             "https://git.example.com/api/o/r.git",
	} {
		if got, isAllowed := b.Address(raw); got != want || !isAllowed {
			t.Errorf("%s: %s, %v", raw, got, isAllowed)
		}
	}
}
