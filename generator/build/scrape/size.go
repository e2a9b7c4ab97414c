package scrape

import (
	"math"
	"regexp"
	"strconv"
	"strings"
)

var sizeForm = regexp.MustCompile(`^((?:[0-9]*\.)?[0-9]+)([KMGTPE]?)i?B$`)

// ValidSize reports whether the agent accepts a size.
func ValidSize(s string) bool {
	_, ok := sizeOf(s)
	return ok
}

// sizeOf returns a size in bytes, and whether the agent accepts it: a number with a unit, below 8 EiB. Units are powers
// of 1024, with and without the i.
func sizeOf(s string) (bytes float64, ok bool) {
	if s == "0" {
		return 0, true
	}
	m := sizeForm.FindStringSubmatch(s)
	if m == nil || strings.HasSuffix(s, "iB") && m[2] == "" {
		return 0, false
	}
	n, err := strconv.ParseFloat(m[1], 64)
	power := strings.Index(" KMGTPE", m[2])
	if m[2] == "" {
		power = 0
	}
	n *= math.Pow(1024, float64(power))
	return n, err == nil && n < math.MaxInt64
}
