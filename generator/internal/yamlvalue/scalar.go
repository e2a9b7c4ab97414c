package yamlvalue

import (
	"math"
	"regexp"
	"strconv"
	"strings"
)

// resolve returns the value of a plain (unquoted) scalar without a tag: a string, bool,
// int64, float64 or nil. ok is false for the numbers that JSON does not have (.inf, .nan).
// The rules are those of go.yaml.in/yaml/v2, resolve.go.
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

// maxWord is the length of the longest word that is no string, in bytes.
const maxWord = len("false")

// resolveWord knows the names of booleans and null.
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

// resolveFraction is for scalars that begin with a dot.
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

var floatPattern = regexp.MustCompile(`^[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?$`)

// resolveNumber is for scalars that begin with a digit or a sign. Dates, which YAML 1.1 knows
// too, come out as the strings that they are.
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

// resolveBinary is for the forms of 0b that strconv.ParseInt does not take: it takes those
// without a sign inside, so what is left are oddities such as 0b-1.
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

// notInNumber reports whether a character is in no form of number, so that durations,
// addresses and versions are known as strings at a glance.
func notInNumber(r rune) bool {
	switch {
	case '0' <= r && r <= '9', 'a' <= r && r <= 'f', 'A' <= r && r <= 'F':
		return false
	}
	return !strings.ContainsRune("+-._xXoOiInN", r)
}

// float normalises a number as its way through JSON does: without a fraction it becomes an
// int64 where it fits.
func float(f float64) (any, bool) {
	if math.IsInf(f, 0) || math.IsNaN(f) {
		return nil, false
	}
	if f == math.Trunc(f) && math.Abs(f) < 1e21 { // from 1e21 on, JSON has an exponent
		if i, err := strconv.ParseInt(strconv.FormatFloat(f, 'f', -1, 64), 10, 64); err == nil {
			return i, true
		}
	}
	return f, true
}
