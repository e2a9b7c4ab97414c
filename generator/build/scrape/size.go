package scrape

import (
	"math"
	"regexp"
	"strconv"
	"strings"
)

var sizeForm = regexp.MustCompile(`^((?:[0-9]*\.)?[0-9]+)([KMGTPE]?)i?B$`)

// validSize reports whether the agent accepts a size: a number with a unit, below 8 EiB. Units are powers of
// 1024, with and without the i.
func validSize(s string) bool {
	if s == "0" {
		return true
	}
	m := sizeForm.FindStringSubmatch(s)
	if m == nil || strings.HasSuffix(s, "iB") && m[2] == "" {
		return false
	}
	n, err := strconv.ParseFloat(m[1], 64)
	power := strings.Index(" KMGTPE", m[2])
	if m[2] == "" {
		power = 0
	}
	return err == nil && n*math.Pow(1024, float64(power)) < math.MaxInt64
}
