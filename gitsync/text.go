package gitsync

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"
	"unicode"

	"github.com/agentry-dev/agentry/gitsync/repo"
)

// What people wrote into input commits is foreign text: it is made fit for one line, for
// a terminal and for Git before it goes into a commit of ours.

// Limits of what is taken over from an input commit.
const (
	maxSubjectBytes = 1 << 10
	maxBodyBytes    = 64 << 10
)

// splitMessage is the first line of a message and the rest.
func splitMessage(message string) (subject, body string) {
	subject, body, _ = strings.Cut(strings.TrimSpace(message), "\n")
	return cut(oneLine(subject), maxSubjectBytes), cut(strings.ToValidUTF8(strings.TrimSpace(body), "\ufffd"), maxBodyBytes)
}

// oneLine replaces what is no text, or would end the line or steer a terminal.
func oneLine(s string) string {
	s = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.In(r, unicode.Zl, unicode.Zp, unicode.Bidi_Control) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, "\ufffd"))
	return strings.TrimSpace(s)
}

// cut shortens a text that is far longer than anybody reads.
func cut(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	return strings.ToValidUTF8(s[:limit], "") + " ..."
}

// person is Name <mail>, or <mail> of somebody without a name.
func person(s repo.Signature) string {
	clean := func(s string) string {
		return cut(oneLine(strings.NewReplacer("<", "", ">", "").Replace(s)), maxSubjectBytes)
	}
	return strings.TrimSpace(fmt.Sprintf("%s <%s>", clean(s.Name), clean(s.Email)))
}

// safeDate is a date that Git and RFC 3339 can hold: a commit may say anything.
func safeDate(when time.Time) time.Time {
	const year10000 = 253402300800
	if unix := when.Unix(); unix < 0 || unix >= year10000 {
		return time.Unix(max(0, min(unix, year10000-1)), 0).UTC()
	}
	if _, offset := when.Zone(); offset <= -24*60*60 || offset >= 24*60*60 || when.Year() > 9999 {
		return when.UTC()
	}
	return when
}

// trailer is a line "Key: value" at the end of a commit message.
type trailer struct{ key, value string }

// trailers reads the last paragraph of a message, if all of it is trailers
// (git-interpret-trailers). A line that begins with a space continues the one before.
func trailers(message string) []trailer {
	message = strings.ReplaceAll(message, "\r\n", "\n")
	paragraphs := strings.Split(strings.TrimSpace(message), "\n\n")
	if len(paragraphs) < 2 {
		return nil
	}
	var out []trailer
	for line := range strings.Lines(paragraphs[len(paragraphs)-1]) {
		if strings.HasPrefix(line, " ") && len(out) > 0 {
			out[len(out)-1].value += " " + strings.TrimSpace(line)
			continue
		}
		key, value, ok := strings.Cut(strings.TrimSpace(line), ":")
		if !ok || key == "" || strings.ContainsAny(key, " \t") {
			return nil
		}
		out = append(out, trailer{key, strings.TrimSpace(value)})
	}
	return out
}

// referenced reads the trailers by which a commit names the one that caused it, as Argo
// CD's hydrator does; the last of each counts.
func referenced(message string) (hydratorCommit, bool) {
	var c hydratorCommit
	fields := map[string]*string{
		"argocd-reference-commit-sha": &c.SHA, "argocd-reference-commit-repourl": &c.RepoURL, "argocd-reference-commit-author": &c.Author,
		"argocd-reference-commit-date": &c.Date, "argocd-reference-commit-subject": &c.Subject, "argocd-reference-commit-body": &c.Body,
	}
	for _, t := range trailers(message) {
		if field := fields[strings.ToLower(t.key)]; field != nil {
			*field = cut(t.value, maxBodyBytes)
		}
	}
	var body string
	if json.Unmarshal([]byte(c.Body), &body) == nil {
		c.Body = body
	}
	return c, c != (hydratorCommit{})
}
