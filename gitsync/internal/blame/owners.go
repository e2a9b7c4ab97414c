package blame

import (
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/hmarr/codeowners"
)

// ownersFiles are where GitHub and GitLab look for owners, in their order.
var ownersFiles = [...]string{".github/CODEOWNERS", "CODEOWNERS", "docs/CODEOWNERS", ".gitlab/CODEOWNERS"}

// owners are the rules of a CODEOWNERS file. Nil if there is none.
type owners codeowners.Ruleset

// Owners returns the owners of a file as the CODEOWNERS file of its source names them: the last rule that matches
// counts.
func (m *Memory) Owners(src Source, file string) ([]string, error) {
	rules, err := m.rules(src)
	if err != nil || rules == nil {
		return nil, err
	}
	rule, err := codeowners.Ruleset(rules).Match(file)
	if err != nil || rule == nil {
		return nil, nil // a pattern that cannot be understood has no owners
	}
	out := make([]string, len(rule.Owners))
	for i, o := range rule.Owners {
		out[i] = o.String()
	}
	return out, nil
}

// rules returns the owners that a source names. It reads each version of the file once.
func (m *Memory) rules(src Source) (owners, error) {
	for _, name := range ownersFiles {
		h := history{rd: src.Reader, file: name}
		blob, err := h.blob(src.Head)
		if err != nil {
			return nil, err
		}
		if blob.IsZero() {
			continue
		}
		if known, ok := m.owners[blob]; ok {
			return known, nil
		}
		text, err := h.read(blob)
		if err != nil {
			return nil, err
		}
		m.owners = map[plumbing.Hash]owners{blob: parseOwners(text)}
		return m.owners[blob], nil
	}
	return nil, nil
}

// parseOwners reads line by line, so that a line that cannot be understood, such as the name of a section of GitLab,
// costs nothing but itself.
func parseOwners(text string) (rules owners) {
	for line := range strings.Lines(text) {
		if one, err := codeowners.ParseFile(strings.NewReader(line)); err == nil {
			rules = append(rules, one...)
		}
	}
	return rules
}
