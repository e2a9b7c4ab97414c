package workload

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"math/rand/v2"
	"testing"
)

// TestCompressionInParts holds that a text is compressed to the same bytes however it comes: Secrets must not change
// with what is printed first.
func TestCompressionInParts(t *testing.T) {
	var text []byte
	for i := range 20_000 {
		text = fmt.Appendf(text, "- job_name: serviceMonitor/team-%d/service-%d/0\n", i%50, i)
	}
	whole := (&compression{}).compressed(text)
	r, err := gzip.NewReader(bytes.NewReader(whole))
	if err != nil {
		t.Fatal(err)
	}
	if back, err := io.ReadAll(r); err != nil || !bytes.Equal(back, text) {
		t.Fatalf("is not the text: %v", err)
	}
	random := rand.New(rand.NewPCG(1, 2))
	for range 20 {
		z := compression{above: random.IntN(len(text))}
		for at := 0; at < len(text); at += 1 + random.IntN(100_000) {
			z.soFar(text[:at])
		}
		if !bytes.Equal(z.compressed(text), whole) {
			t.Fatal("other parts are compressed to other bytes")
		}
	}
	z := compression{}
	z.soFar(text[:100])
	z.end()
	if got := <-z.result; len(got) == 0 { // so the goroutine ended
		t.Fatal("no result")
	}
}
