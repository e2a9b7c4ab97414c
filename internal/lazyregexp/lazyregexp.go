// Package lazyregexp holds the regular expressions of packages. Each is compiled at its first use, so that no command
// waits for those that it does not use.
package lazyregexp

import (
	"regexp"
	"sync"
)

// Regexp is a regular expression that is compiled once. Its methods are those of [regexp.Regexp]. It is safe for
// concurrent use.
type Regexp struct {
	text     string
	once     sync.Once
	compiled *regexp.Regexp
}

// New returns the regular expression of a text, which must be valid: the first use panics otherwise. The variables of
// packages that it is for cost nothing before main, because the compiler computes their values.
func New(text string) *Regexp { return &Regexp{text: text} }

func (r *Regexp) regexp() *regexp.Regexp {
	r.once.Do(func() { r.compiled = regexp.MustCompile(r.text) })
	return r.compiled
}

func (r *Regexp) String() string { return r.text }

func (r *Regexp) Match(b []byte) bool { return r.regexp().Match(b) }

func (r *Regexp) MatchString(s string) bool { return r.regexp().MatchString(s) }

func (r *Regexp) FindString(s string) string { return r.regexp().FindString(s) }

func (r *Regexp) FindStringIndex(s string) []int { return r.regexp().FindStringIndex(s) }

func (r *Regexp) FindStringSubmatch(s string) []string { return r.regexp().FindStringSubmatch(s) }

func (r *Regexp) FindStringSubmatchIndex(s string) []int {
	return r.regexp().FindStringSubmatchIndex(s)
}

func (r *Regexp) FindAllString(s string, n int) []string { return r.regexp().FindAllString(s, n) }

func (r *Regexp) FindAllStringSubmatch(s string, n int) [][]string {
	return r.regexp().FindAllStringSubmatch(s, n)
}

func (r *Regexp) FindAllStringSubmatchIndex(s string, n int) [][]int {
	return r.regexp().FindAllStringSubmatchIndex(s, n)
}

func (r *Regexp) ReplaceAllString(src, with string) string {
	return r.regexp().ReplaceAllString(src, with)
}

func (r *Regexp) ReplaceAllStringFunc(src string, with func(string) string) string {
	return r.regexp().ReplaceAllStringFunc(src, with)
}

func (r *Regexp) ReplaceAllLiteralString(src, with string) string {
	return r.regexp().ReplaceAllLiteralString(src, with)
}

func (r *Regexp) Split(s string, n int) []string { return r.regexp().Split(s, n) }
