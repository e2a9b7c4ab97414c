package argocd

import (
	"math/rand/v2"
	"regexp"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestDocuments compares documents with a regular expression that says the same, on random texts.
func TestDocuments(t *testing.T) {
	separator, blank := regexp.MustCompile(`(?m)^---(?:[ \t\r].*)?$`), regexp.MustCompile(`^\s*$`)
	pieces := []string{"---", "-", "\n", "\n", "\r\n", " ", "\t", "a: b", "# c"}
	random := rand.New(rand.NewPCG(1, 2))
	for range 5_000 {
		text := ""
		for range random.IntN(12) {
			text += pieces[random.IntN(len(pieces))]
		}
		var want, got []string
		begin := 0
		for _, at := range append(separator.FindAllStringIndex(text, -1), []int{len(text)}) {
			if doc := text[begin:at[0]]; !blank.MatchString(doc) {
				want = append(want, doc)
			}
			begin = at[0]
		}
		for _, d := range documents([]byte(text), "a.yaml", nil) {
			got = append(got, string(d.Text))
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("%q (-want +got):\n%s", text, diff)
		}
	}
}
