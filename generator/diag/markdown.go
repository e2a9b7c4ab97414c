package diag

import "strings"

//go:generate go test . -run TestManualIsUpToDate -update

// Markdown is the manual page of the codes, docs/diagnostics.md.
func Markdown(topics []Topic) string {
	var b strings.Builder
	b.WriteString(markdownHead)
	for _, t := range topics {
		if len(t.Codes) == 0 {
			continue
		}
		b.WriteString("\n## " + t.Title + "\n")
		for _, c := range t.Codes {
			b.WriteString("\n### " + string(c.Code) + "\n\n" + c.Summary + "\n\n" + c.Help + "\n")
		}
	}
	return b.String()
}

const markdownHead = `# Diagnostics

<!-- Generated from generator/diag by "make generate". Do not edit. -->

Every problem that agentry finds is a diagnostic:

` + "```" + `
monitoring/api.yaml:12:7: error[unknown-field]: ServiceMonitor/team-a/api: spec.endpoints[0].intreval: unknown field
  12 |     - intreval: 30s
     |       ^
  hint: did you mean interval?
` + "```" + `

An **error** is an input that cannot be rendered as written: ` + "`sync`" + ` keeps the last good state of
what it concerns, ` + "`render`" + ` leaves it out, and the exit code is 1. A **warning** is rendered, but
perhaps not as its author expects; ` + "`--strict`" + ` makes it exit 1 too. An **info** needs no change.

Each fault is told once, at the object that brought it in: of two objects that do not go together it
is the newer one, if that is known, and an object that only needs another one with an error is no
error itself ([follows-error](#follows-error)). The other objects of a finding are ` + "`related`" + ` in JSON.

Codes are stable: they are never renamed, and never used again for something else.
`
