package cli

import (
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// TestStartIsCheap bounds what packages allocate before main, because every command pays for it, completion even at
// each key. Regular expressions belong into package lazyregexp, and tables into sync.OnceValue.
func TestStartIsCheap(t *testing.T) {
	const maxOwn, maxAll = 850, 24_000 // allocations, which unlike times are the same on every machine
	version := exec.Command("agentry", "version")
	version.Env = append(os.Environ(), "GODEBUG=inittrace=1")
	var trace strings.Builder
	version.Stderr = &trace
	if err := version.Run(); err != nil {
		t.Fatalf("%v\n%s", err, trace.String())
	}
	all := 0
	lines := regexp.MustCompile(`(?m)^init (\S+) @.* (\d+) allocs$`).FindAllStringSubmatch(trace.String(), -1)
	for _, line := range lines {
		n, err := strconv.Atoi(line[2])
		if err != nil {
			t.Fatal(err)
		}
		all += n
		if strings.HasPrefix(line[1], "github.com/agentry-dev/agentry/") && n > maxOwn {
			t.Errorf("%s makes %d allocations before main, more than %d", line[1], n, maxOwn)
		}
	}
	if len(lines) < 100 || all > maxAll {
		t.Errorf("%d packages make %d allocations before main, more than %d", len(lines), all, maxAll)
	}
}
