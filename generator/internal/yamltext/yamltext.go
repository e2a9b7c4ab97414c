// Package yamltext writes strings as YAML scalars that parsers of YAML 1.1 and 1.2 decode to the same strings.
package yamltext

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Append appends s as a scalar: plain where that certainly means the same string, otherwise double-quoted.
func Append(buf []byte, s string) []byte {
	if plain(s) {
		return append(buf, s...)
	}
	return AppendQuoted(buf, s, false)
}

// plain reports whether s needs no quotes. It is deliberately strict: s must begin with a letter and contain nothing
// special in any YAML version.
func plain(s string) bool {
	if s == "" || len(s) > 128 || !startsPlain(s) || keyword(s) {
		return false
	}
	for i := 0; i < len(s); i++ {
		if !plainByte(s[i]) || s[i] == ':' && (i+1 == len(s) || s[i+1] == ' ') {
			return false
		}
	}
	return true
}

// The characters that a plain scalar may have after its first one, as bit sets: letters, digits,
// _ . - / $ ( ) + ; | * ^ = ? @ ~ and, except at the end, the colon.
const (
	plainLow uint64 = 0x3ff<<'0' | 1<<'.' | 1<<'-' | 1<<'/' | 1<<'$' | 1<<'(' | 1<<')' | 1<<'+' | 1<<';' | 1<<'*' |
		1<<'=' | 1<<'?' | 1<<':'
	plainHigh uint64 = 0x3ffffff<<('A'-64) | 0x3ffffff<<('a'-64) | 1<<('_'-64) | 1<<('|'-64) | 1<<('^'-64) |
		1<<('@'-64) | 1<<('~'-64)
)

func plainByte(c byte) bool {
	switch {
	case c < 64:
		return plainLow>>c&1 != 0
	case c < 128:
		return plainHigh>>(c-64)&1 != 0
	}
	return false
}

// startsPlain accepts a letter, or one of the few characters that cannot begin a number.
func startsPlain(s string) bool {
	switch c := s[0]; {
	case c >= 'A' && c <= 'Z', c >= 'a' && c <= 'z', c == '_', c == '/', c == '(', c == '$', c == '^', c == ';':
		return true
	case c >= '0' && c <= '9':
		return isDuration(s)
	}
	return false
}

// isDuration accepts durations such as 30s and 1m30s: digits and units, ending in a unit that cannot end a number in
// any YAML version.
func isDuration(s string) bool {
	last := s[len(s)-1]
	if last != 's' && last != 'm' && last != 'h' && last != 'd' && last != 'w' && last != 'y' {
		return false
	}
	for i := 0; i < len(s); i++ {
		if c := s[i]; (c < '0' || c > '9') && !strings.ContainsRune("smhdwy", rune(c)) {
			return false
		}
	}
	return true
}

// keyword reports whether YAML 1.1 or 1.2 reads the word as something other than a string, such as true or null.
func keyword(s string) bool {
	if len(s) > 5 {
		return false
	}
	switch strings.ToLower(s) {
	case "y", "n", "yes", "no", "on", "off", "true", "false", "null", "nan", "inf":
		return true
	}
	return false
}

// ReadsAsNull reports whether the agent's YAML parser reads a text as null even in quotes. It does so for types
// with their own unmarshaller, such as expressions and URLs, and then refuses the whole configuration.
func ReadsAsNull(s string) bool { return s == "~" || s == "null" }

const hexDigits = "0123456789abcdef"

// AppendQuoted appends s in double quotes. With protect, each dollar is written as \x24.
func AppendQuoted(buf []byte, s string, protect bool) []byte {
	buf = append(buf, '"')
	for i := 0; i < len(s); {
		c := s[i]
		if c < utf8.RuneSelf {
			buf = appendASCII(buf, c, protect)
			i++
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError || r == '\ufeff' || !unicode.IsPrint(r) {
			buf = appendRuneEscape(buf, r)
		} else {
			buf = append(buf, s[i:i+size]...)
		}
		i += size
	}
	return append(buf, '"')
}

func appendASCII(buf []byte, c byte, protect bool) []byte {
	switch {
	case c == '"' || c == '\\':
		return append(buf, '\\', c)
	case c == '\n':
		return append(buf, '\\', 'n')
	case c == '\t':
		return append(buf, '\\', 't')
	case c == '\r':
		return append(buf, '\\', 'r')
	case c == '$' && protect, c < ' ', c == 0x7f:
		return append(buf, '\\', 'x', hexDigits[c>>4], hexDigits[c&0xf])
	}
	return append(buf, c)
}

func appendRuneEscape(buf []byte, r rune) []byte {
	buf = append(buf, '\\', 'U')
	for shift := 28; shift >= 0; shift -= 4 {
		buf = append(buf, hexDigits[(r>>shift)&0xf])
	}
	return buf
}
