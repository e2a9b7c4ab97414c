package diag

import "strings"

//go:generate go test . -run TestManualIsUpToDate -update

// manual returns the page of the codes, docs/diagnostics.md.
func manual(topics []Topic) string {
	var b strings.Builder
	b.WriteString(manualHead)
	for _, t := range topics {
		if len(t.Codes) == 0 {
			continue
		}
		b.WriteString("\n## " + t.Title + "\n")
		for _, c := range t.Codes {
			b.WriteString("\n### " + string(c.Code) + "\n\n" + c.Summary + "\n\n*" + severityWords(c.Code) + ".* " +
				c.Help + "\n")
		}
	}
	return b.String()
}

// severityWords returns the severities of a code in words: Error or warning.
func severityWords(c Code) string {
	var words []string
	for _, s := range c.Severities() {
		words = append(words, string(s))
	}
	text := strings.Join(words, " or ")
	return strings.ToUpper(text[:1]) + text[1:]
}

const manualHead = `# Diagnostics

<!-- Generated from generator/diag by "make generate". Do not edit. -->

Every problem that agentry finds is a *diagnostic* with a code. This page says what each code means, and what to do about it.

` + "```" + `
monitoring/api.yaml:12:7: error[unknown-field]: ServiceMonitor/team-a/api: spec.endpoints[0].intreval: unknown field
  12 |     - intreval: 30s
     |       ^
  hint: did you mean interval?
` + "```" + `

An **error** is an object that cannot be rendered as written: ` + "`sync`" + ` renders its last good version
([holding](holding.md)), ` + "`render`" + ` leaves it out, and the exit code is 1. A **warning** is rendered, but
perhaps not as its author expects; with ` + "`--strict`" + ` the exit code is 1 too. An **info** needs no change.

Each problem is reported once, at the object that caused it: if two objects conflict, at the newer one, where
that is known. An object that only needs another one with an error is no error itself
([follows-error](#follows-error)). JSON lists the other objects concerned as ` + "`related`" + `.

Codes are stable: a code is never renamed, and never gets another meaning.
`
