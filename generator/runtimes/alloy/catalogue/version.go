package catalogue

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// The versions of Alloy that the catalogue tells apart: those with one of these minor numbers.
const (
	oldest, newest = 8, 18
	defaultPatch   = 1
)

// Version is a version of Alloy, as in the tag of its image.
type Version struct{ minor, patch int }

// Default returns the version that the catalogue was made of.
func Default() Version { return Version{newest, defaultPatch} }

// ParseVersion returns a version that is written like v1.16.2 or 1.16.2.
func ParseVersion(text string) (Version, error) {
	m := regexp.MustCompile(`^v?1\.(0|[1-9]\d{0,3})\.(0|[1-9]\d{0,3})$`).FindStringSubmatch(text)
	if m == nil {
		return Version{}, fmt.Errorf("%q is not a version like %s", text, Default())
	}
	minor, _ := strconv.Atoi(m[1])
	patch, _ := strconv.Atoi(m[2])
	if minor < oldest || minor > newest {
		return Version{}, fmt.Errorf("no support for Alloy %s: use v1.%d to v1.%d", text, oldest, newest)
	}
	return Version{minor, patch}, nil
}

// String returns a version like v1.16.2.
func (v Version) String() string { return fmt.Sprintf("v1.%d.%d", v.minor, v.patch) }

// Has reports whether a version has what came with another one, which is like v1.11.0 or empty.
func (v Version) Has(since string) bool {
	minor, _, _ := strings.Cut(strings.TrimPrefix(since, "v1."), ".")
	n, err := strconv.Atoi(minor)
	return since == "" || err == nil && n <= v.minor
}
