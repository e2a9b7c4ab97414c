package yamlvalue

import (
	"math"
	"strconv"
	"strings"

	"github.com/agentry-dev/agentry/internal/lazyregexp"
)

// resolve returns the value of a plain scalar without a tag: a string, bool, int64, float64 or nil. It returns false
// for numbers that JSON cannot express (.inf, .nan). The rules come from resolve.go of go.yaml.in/yaml/v2.
func resolve(s string) (value any, ok bool) {
	if s == "" {
		return nil, true
	}
	switch c := s[0]; {
	case c == '+' || c == '-' || '0' <= c && c <= '9':
		return resolveNumber(s)
	case c == '.':
		return resolveFraction(s)
	case strings.IndexByte("yYnNtTfFoO~", c) >= 0 && len(s) <= maxWord:
		return resolveWord(s), true
	}
	return s, true
}

// maxWord is the length in bytes of the longest word that is not read as a string.
const maxWord = len("false")

// resolveWord resolves the words for booleans and null.
func resolveWord(s string) any {
	switch s {
	case "y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON":
		return true
	case "n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF":
		return false
	case "~", "null", "Null", "NULL":
		return nil
	}
	return s
}

// resolveFraction resolves scalars that begin with a dot.
func resolveFraction(s string) (any, bool) {
	switch s {
	case ".nan", ".NaN", ".NAN", ".inf", ".Inf", ".INF":
		return nil, false
	}
	if f, err := strconv.ParseFloat(s, 64); err == nil {
		return float(f)
	}
	return s, true
}

var floatPattern = lazyregexp.New(`^[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?$`)

// resolveNumber resolves scalars that begin with a digit or a sign. Dates of YAML 1.1 stay strings.
func resolveNumber(s string) (any, bool) {
	if strings.IndexFunc(s, notInNumber) >= 0 {
		return s, true
	}
	switch s {
	case "+.inf", "+.Inf", "+.INF", "-.inf", "-.Inf", "-.INF":
		return nil, false
	}
	plain := strings.ReplaceAll(s, "_", "")
	if i, err := strconv.ParseInt(plain, 0, 64); err == nil {
		return i, true
	}
	if u, err := strconv.ParseUint(plain, 0, 64); err == nil {
		return float64(u), true // above the range of int64
	}
	if floatPattern.MatchString(plain) {
		if f, err := strconv.ParseFloat(plain, 64); err == nil {
			return float(f)
		}
	}
	return resolveBinary(s, plain)
}

// resolveBinary resolves the 0b forms that strconv.ParseInt refuses, such as 0b-1: YAML allows a sign inside.
func resolveBinary(s, plain string) (any, bool) {
	if digits, found := strings.CutPrefix(plain, "0b"); found {
		if i, err := strconv.ParseInt(digits, 2, 64); err == nil {
			return i, true
		}
		if u, err := strconv.ParseUint(digits, 2, 64); err == nil {
			return float64(u), true
		}
	} else if digits, found := strings.CutPrefix(plain, "-0b"); found {
		if i, err := strconv.ParseInt("-"+digits, 2, 64); err == nil {
			return i, true
		}
	}
	return s, true
}

// notInNumber reports whether a character cannot occur in a number. It quickly identifies durations, addresses and
// versions as strings.
func notInNumber(r rune) bool {
	switch {
	case '0' <= r && r <= '9', 'a' <= r && r <= 'f', 'A' <= r && r <= 'F':
		return false
	}
	return !strings.ContainsRune("+-._xXoOiInN", r)
}

// float converts a number like a round trip through JSON: a number without a fraction becomes an int64 if it fits.
func float(f float64) (any, bool) {
	if math.IsInf(f, 0) || math.IsNaN(f) {
		return nil, false
	}
	if f == math.Trunc(f) && math.Abs(f) < 1e21 { // JSON writes numbers from 1e21 with an exponent
		if i, err := strconv.ParseInt(strconv.FormatFloat(f, 'f', -1, 64), 10, 64); err == nil {
			return i, true
		}
	}
	return f, true
}
