package browser

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/chromedp/chromedp"
)

// axeSum is the SHA-256 of axe.min.js in axe-core 4.14.1.
const axeSum = "29348999450cdf2849a8e70b7912fc2da85a849da39c0d0d5394f51d4a9ed95c"

// axe-core is what people with disabilities, and those who test for them, ask of pages.
var axeSource = sync.OnceValues(func() (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	data, err := os.ReadFile(filepath.Join(cache, "agentry-test", "axe", "axe.min.js"))
	return string(data), err
})

const runAxe = `axe.run(document, {runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']}).then(r =>
	r.violations.map(v => v.id + ': ' + v.help + ': ' + v.nodes.slice(0, 3).map(n => n.target.join(' ')).join(', ')))`

// axe returns what axe-core finds wrong with the page.
func (s *sight) axe(t *testing.T) []string {
	t.Helper()
	source, err := axeSource()
	if err != nil {
		t.Fatalf("there is no axe-core: run make browser-deps: %v", err)
	}
	if sum := sha256.Sum256([]byte(source)); hex.EncodeToString(sum[:]) != axeSum {
		t.Fatal("axe.min.js is not that of axe-core 4.14.1: remove it, and run make browser-deps")
	}
	do(t, s.tab, chromedp.Evaluate[chromedp.Void](source+"; 0"))
	return get(t, s.tab, chromedp.Evaluate[[]string](runAxe, chromedp.EvalAwaitPromise))
}
