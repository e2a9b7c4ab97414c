// Package expression checks and compiles regular expressions that users write.
//
// A few kilobytes such as a{1000}b{1000} compile to hundreds of megabytes, here and in every agent that reads them. So
// the size of the compiled program is computed from the parsed text, before repetitions are expanded, and an
// expression that is too large is an error.
package expression

import (
	"fmt"
	"regexp"
	"regexp/syntax"
	"strings"
)

const (
	// MaxInstructions is the size of the compiled program that any expression may have. Each character of a text is
	// about one instruction of some 200 bytes, so a long text without repetitions may have more: two for each of its
	// bytes.
	MaxInstructions = 10_000
	// MaxUnicodeClasses limits the classes such as \pL in an expression. Each has about a thousand runes after
	// parsing.
	MaxUnicodeClasses = 200
	// runesPerInstruction is the number of runes in a class that take the memory of one instruction.
	runesPerInstruction = 32
)

// Check returns an error if an expression is invalid or too large. It does not compile it.
func Check(text string) error {
	_, err := Surplus(text)
	return err
}

// Surplus is [Check] that also returns the number of instructions beyond the allowance of two for each byte of the
// text. The surpluses of many small expressions with repetitions add up.
func Surplus(text string) (int64, error) {
	if n := strings.Count(text, `\p`) + strings.Count(text, `\P`); n > MaxUnicodeClasses {
		return 0, fmt.Errorf(`has %d classes such as \pL, more than %d`, n, MaxUnicodeClasses)
	}
	parsed, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return 0, err
	}
	n, free := instructions(parsed), int64(2*len(text))
	if most := max(MaxInstructions, free); n > most {
		return 0, fmt.Errorf("compiles to about %d instructions, more than %d: use lower repetition counts in braces",
			n, most)
	}
	return max(n-free, 0), nil
}

// Compile compiles an expression, unless [Check] refuses it.
func Compile(text string) (*regexp.Regexp, error) {
	if err := Check(text); err != nil {
		return nil, err
	}
	return regexp.Compile(text)
}

// instructions estimates the number of instructions of a compiled expression. A parsed expression repeats at most a
// thousand times, however repetitions are nested.
func instructions(re *syntax.Regexp) int64 {
	var sum int64
	for _, sub := range re.Sub {
		sum += instructions(sub)
	}
	switch re.Op {
	case syntax.OpConcat:
		return sum
	case syntax.OpLiteral:
		return int64(len(re.Rune))
	case syntax.OpCharClass: // each repetition has its own copy of a short program
		return 1 + int64(len(re.Rune)/runesPerInstruction)
	case syntax.OpRepeat:
		if re.Max < 0 {
			return int64(max(re.Min, 1))*sum + 1
		}
		return int64(re.Max)*sum + int64(re.Max-re.Min)
	case syntax.OpAlternate:
		return sum + int64(len(re.Sub))
	case syntax.OpCapture:
		return sum + 2
	}
	return sum + 1
}
