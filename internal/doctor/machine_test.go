package doctor

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestCacheThatCannotBeUsed(t *testing.T) {
	folder := t.TempDir()
	has := func(mib uint64) func(string) (uint64, error) {
		return func(string) (uint64, error) { return mib << 20, nil }
	}
	file := filepath.Join(folder, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		folder string
		free   func(string) (uint64, error)
		want   State
		says   string
	}{
		{folder, has(1024), OK, "has 1024 MiB free"},
		{folder, has(1023), Warning, "has 1023 MiB free"},
		{folder, has(100), Warning, "has 100 MiB free"},
		{folder, has(99), Failed, "has 99 MiB free, less than 100 MiB"},
		{folder, func(string) (uint64, error) { return 0, errors.ErrUnsupported }, Skipped, "unknown"},
		{file, has(1024), Failed, "not a directory"},
	} {
		if got := cache(test.folder, test.free); got.State != test.want || !strings.Contains(got.Message, test.says) {
			t.Errorf("got %+v, want %s %s", got, test.want, test.says)
		}
	}
	if left, err := os.ReadDir(folder); err != nil || len(left) != 1 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	if bytes, err := freeBytes(folder); err != nil || bytes == 0 {
		t.Errorf("free: %d, %v", bytes, err)
	}
}
