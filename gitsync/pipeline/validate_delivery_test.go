package pipeline

import (
	"strings"
	"testing"
)

func TestLengthOfOCITag(t *testing.T) {
	for length, ok := range map[int]bool{1: true, 128: true, 129: false} {
		o := &OCI{URL: "oci://registry.example.com/prod", Tag: strings.Repeat("a", length)}
		if found := validateOCI("spec.output.oci", o); (len(found) == 0) != ok {
			t.Errorf("a tag of %d letters: %v", length, found)
		}
	}
}
