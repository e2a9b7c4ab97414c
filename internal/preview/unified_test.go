package preview

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/gitsync/plan"
)

func TestGitAppliesADiffAndGetsTheOtherText(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 60 {
		var before, after strings.Builder
		for i := range random.IntN(40) {
			line := fmt.Sprintf("line %d\n", i)
			switch random.IntN(8) {
			case 0:
				after.WriteString("new\n" + line)
				before.WriteString(line)
			case 1:
				before.WriteString(line)
			case 2:
				before.WriteString(line)
				after.WriteString("other " + line)
			default:
				before.WriteString(line)
				after.WriteString(line)
			}
		}
		if before.Len() == 0 || after.Len() == 0 || before.String() == after.String() {
			continue
		}
		text, _, _ := unified(before.String(), after.String())
		dir := t.TempDir()
		file := filepath.Join(dir, "f")
		if err := os.WriteFile(file, []byte(before.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command("git", "apply", "-")
		cmd.Dir, cmd.Stdin = dir, strings.NewReader("--- a/f\n+++ b/f\n"+text)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s\n%s\n%s", err, out, &before, text)
		}
		got, err := os.ReadFile(file)
		if err != nil || string(got) != after.String() {
			t.Fatalf("%v: got\n%s\nwant\n%s\nby\n%s", err, got, &after, text)
		}
	}
}

func TestUnifiedCountsLinesAndShowsThreeAround(t *testing.T) {
	text, plus, less := unified("1\n2\n3\n4\n5\n6\n7\n8\n9\n", "1\n2\n3\n4\nfive\n6\n7\n8\n9\n")
	if want := "@@ -2,7 +2,7 @@ 1\n 2\n 3\n 4\n-5\n+five\n 6\n 7\n 8\n"; text != want || plus != 1 || less != 1 {
		t.Errorf("+%d -%d\n%s", plus, less, text)
	}
	if text, _, _ := unified("", "a\n"); text != "@@ -0,0 +1 @@\n+a\n" {
		t.Errorf("new: %s", text)
	}
	if text, _, _ := unified("a\n", "a\n"); text != "" {
		t.Errorf("equal: %s", text)
	}
}

func TestCommentsStayWithinTheLimitAndSayWhatIsMissing(t *testing.T) {
	r := result{head: "0123456789"}
	for i := range 500 {
		r.units = append(r.units, unitChange{fmt.Sprintf("team/agent-%d", i), "changed"})
		r.files = append(r.files, fileChange{path: fmt.Sprintf("team/agent-%d/x.yaml", i), op: "changed", diff: strings.Repeat("+x\n", 500), plus: 500})
		r.diags = append(r.diags, diag.Diagnostic{Severity: diag.Warning, Message: "m", File: fmt.Sprint("f", i)})
		r.held = append(r.held, plan.HeldObject{})
	}
	for _, limit := range []int{500, 2000, 10000, 65535, 1000000} {
		text := r.markdown("prod", limit)
		if len(text) > limit || !strings.HasPrefix(text, "### agentry: `prod`\n\n**500 units changed") {
			t.Errorf("limit %d: %d bytes, %.80s", limit, len(text), text)
		}
		if !strings.Contains(text, "The rest is cut") && !strings.Contains(text, "There is no room for ") {
			t.Errorf("limit %d: nothing says that something is missing", limit)
		}
		if strings.Count(text, "<details>") != strings.Count(text, "</details>") {
			t.Errorf("limit %d: a block is open", limit)
		}
	}
	if text := r.markdown("prod", 1000000); !strings.Contains(text, "- and 400 more\n") || !strings.Contains(text, "There is no room for 300 more.") {
		t.Error("what is listed is not bounded")
	}
}
