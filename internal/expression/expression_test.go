package expression_test

import (
	"regexp"
	"regexp/syntax"
	"runtime"
	"strings"
	"testing"

	"github.com/agentry-dev/agentry/internal/expression"
)

// TestLargeExpressions holds that large expressions are errors, and realistic ones are not.
func TestLargeExpressions(t *testing.T) {
	names := make([]string, 3000)
	for i := range names {
		names[i] = "node_filesystem_avail_bytes" + strings.Repeat("x", i%10)
	}
	for text, refused := range map[string]bool{
		"a{1000}":                            false,
		"a{1000}b{1000}":                     false,
		`(\w{1,63}\.){0,15}example\.com`:     false,
		"(?i)" + strings.Join(names, "|"):    false,
		strings.Repeat("a{1000}", 11):        true,
		strings.Repeat("(ab|cd){0,1000}", 2): true,
		"((a{10}){10}){10}":                  false,
		"(((?:abcdefghijklmn){10}){10}){10}": true,
		strings.Repeat(`\pL`, 201):           true,
		`\pL{900}`:                           true, // each repetition has a thousand runes
		`[\pL\pN_-]{1,63}`:                   false,
		"a{1,}b{2,}c*d+e?":                   false,
	} {
		if err := expression.Check(text); (err != nil) != refused {
			t.Errorf("%.40s: %v", text, err)
		}
	}
	if err := expression.Check("a{1001}"); err == nil || !strings.Contains(err.Error(), "invalid repeat count") {
		t.Errorf("%v", err)
	}
	if _, err := expression.Compile("("); err == nil {
		t.Error("an invalid expression is compiled")
	}
}

// TestInstructions: an accepted expression compiles, with Go's own compiler, to no more instructions than allowed.
func TestInstructions(t *testing.T) {
	for _, text := range []string{
		strings.Repeat("a{990}", 10), "(a{1,40}b?){1,25}", strings.Repeat("(a|bc){0,99}", 12), "(?:(?:x+){9}){99}",
		"[a-z]{3,7}(foo|bar)*$", `(\w{1,63}\.){0,15}`,
	} {
		if err := expression.Check(text); err != nil {
			t.Errorf("%.40s: %v", text, err)
			continue
		}
		parsed, err := syntax.Parse(text, syntax.Perl)
		if err != nil {
			t.Fatal(err)
		}
		program, err := syntax.Compile(parsed.Simplify())
		if err != nil {
			t.Fatal(err)
		}
		if n := len(program.Inst); n > expression.MaxInstructions*11/10 {
			t.Errorf("%.40s: %d instructions", text, n)
		}
	}
}

// TestNothingIsCompiled: refusing an expression takes hardly any memory.
func TestNothingIsCompiled(t *testing.T) {
	var text strings.Builder
	for i := range 3000 {
		text.WriteString(string(rune('a'+i%26)) + "{1000}")
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range 40 {
		if expression.Check(text.String()) == nil {
			t.Fatal("is accepted")
		}
	}
	runtime.ReadMemStats(&after)
	if used := (after.TotalAlloc - before.TotalAlloc) >> 20; used > 100 {
		t.Errorf("40 checks allocate %d MiB", used)
	}
}

// FuzzCheck: accepted expressions compile, and expressions that Go refuses are refused.
func FuzzCheck(f *testing.F) {
	for _, text := range []string{"a{1000}{1000}", `\pL{3}`, "(?i)[a-z]+", "(", "x|y*", "(?P<n>a{2,})"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 1000 {
			return
		}
		if expression.Check(text) != nil {
			return
		}
		if _, err := regexp.Compile(text); err != nil {
			t.Errorf("%q: %v", text, err)
		}
	})
}
