// Package committext makes texts and dates of input commits safe for agentry's commits: one line, without control
// characters, and valid for Git and RFC 3339.
package committext

import (
	"fmt"
	"strings"
	"time"
	"unicode"

	"github.com/agentry-dev/agentry/gitsync/repo/object"
)

// maxSubjectBytes limits a subject or name copied from an input commit.
const maxSubjectBytes = 1 << 10

// MaxBodyBytes limits the body of a message copied from an input commit.
const MaxBodyBytes = 64 << 10

// SplitMessage returns the first line of a message and the rest, both shortened if necessary.
func SplitMessage(message string) (subject, body string) {
	subject, body, _ = strings.Cut(strings.TrimSpace(message), "\n")
	return Cut(OneLine(subject), maxSubjectBytes), Cut(strings.ToValidUTF8(strings.TrimSpace(body), "\ufffd"),
		MaxBodyBytes)
}

// OneLine replaces invalid UTF-8, line breaks and control characters.
func OneLine(s string) string {
	s = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.In(r, unicode.Zl, unicode.Zp, unicode.Bidi_Control) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, "\ufffd"))
	return strings.TrimSpace(s)
}

// Cut shortens a text to about limit bytes.
func Cut(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	return strings.ToValidUTF8(s[:limit], "") + " ..."
}

// Person returns "Name <mail>", or "<mail>" if there is no name.
func Person(s object.Signature) string {
	clean := func(s string) string {
		return Cut(OneLine(strings.NewReplacer("<", "", ">", "").Replace(s)), maxSubjectBytes)
	}
	return strings.TrimSpace(fmt.Sprintf("%s <%s>", clean(s.Name), clean(s.Email)))
}

// SafeDate returns a date that Git and RFC 3339 can represent, because commits can have any date.
func SafeDate(when time.Time) time.Time {
	const year10000 = 253402300800
	if unix := when.Unix(); unix < 0 || unix >= year10000 {
		return time.Unix(max(0, min(unix, year10000-1)), 0).UTC()
	}
	if _, offset := when.Zone(); offset <= -24*60*60 || offset >= 24*60*60 || when.Year() > 9999 {
		return when.UTC()
	}
	return when
}

// Trailer is a line "Key: value" at the end of a commit message.
type Trailer struct{ Key, Value string }

// Trailers returns the trailers in the last paragraph of a message, or none if another line is in it (see
// git-interpret-trailers). A line that begins with a space continues the previous one.
func Trailers(message string) []Trailer {
	message = strings.ReplaceAll(message, "\r\n", "\n")
	paragraphs := strings.Split(strings.TrimSpace(message), "\n\n")
	if len(paragraphs) < 2 {
		return nil
	}
	var out []Trailer
	for line := range strings.Lines(paragraphs[len(paragraphs)-1]) {
		if strings.HasPrefix(line, " ") && len(out) > 0 {
			out[len(out)-1].Value += " " + strings.TrimSpace(line)
			continue
		}
		key, value, ok := strings.Cut(strings.TrimSpace(line), ":")
		if !ok || key == "" || strings.ContainsAny(key, " \t") {
			return nil
		}
		out = append(out, Trailer{key, strings.TrimSpace(value)})
	}
	return out
}
