package manifest_test

import (
	"strings"
	"testing"

	"github.com/agentry-dev/agentry/generator/manifest"
)

func TestPointersOfGitLFS(t *testing.T) {
	t.Parallel()
	const pointer = "version https://git-lfs.github.com/spec/v1\n" +
		"oid sha256:4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393\nsize 12345\n"
	for name, c := range map[string]struct {
		text string
		want bool
	}{
		"a pointer":          {pointer, true},
		"with an extension":  {strings.Replace(pointer, "oid", "ext-0-foo sha256:00\noid", 1), true},
		"as large as can be": {pointer + strings.Repeat("x", 1023-len(pointer)), true},
		"one byte more":      {pointer + strings.Repeat("x", 1024-len(pointer)), false},
		"of something else":  {strings.Replace(pointer, "git-lfs", "git", 1), false},
		"without an object":  {strings.Replace(pointer, "oid", "id", 1), false},
	} {
		if got := manifest.IsLFSPointer([]byte(c.text)); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
	result := manifest.Parse(manifest.File{Path: "a.yaml", Data: []byte(pointer)}, manifest.Options{})
	if len(result.Diags) != 1 || result.Diags[0].Position() != "a.yaml:1:1" || result.Diags[0].Code != "lfs-pointer" ||
		result.Diags[0].Hint == "" || result.Broken != 1 {
		t.Errorf("%+v", result)
	}
}
