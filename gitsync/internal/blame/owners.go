package blame

import (
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/hmarr/codeowners"

	"github.com/agentry-dev/agentry/internal/lazyregexp"
)

// ownersFiles are where GitHub and GitLab look for owners, in their order.
var ownersFiles = [...]string{".github/CODEOWNERS", "CODEOWNERS", "docs/CODEOWNERS", ".gitlab/CODEOWNERS"}

// owners are the rules of a CODEOWNERS file, by section: the first has those before any section's name. Nil if there is
// no file.
type owners []codeowners.Ruleset

// Owners returns the owners of a file as the CODEOWNERS file of its source names them: in each section of GitLab, the
// last rule that matches counts.
func (m *Memory) Owners(src Source, file string) ([]string, error) {
	sections, err := m.rules(src)
	if err != nil || sections == nil {
		return nil, err
	}
	var out []string
	for _, rules := range sections {
		rule, err := rules.Match(file)
		if err != nil || rule == nil {
			continue // a pattern that cannot be understood has no owners
		}
		for _, o := range rule.Owners {
			if name := o.String(); !slices.Contains(out, name) {
				out = append(out, name)
			}
		}
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

// sectionName matches the line that begins a section of GitLab, before its default owners:
// https://docs.gitlab.com/user/project/codeowners/reference/#sections.
var sectionName = lazyregexp.New(`^\^?\[[^\]]+\](\[\d+\])?`)

// parseOwners reads line by line, so that a line that cannot be understood costs nothing but itself.
func parseOwners(text string) owners {
	sections := owners{nil}
	var defaults []codeowners.Owner
	for line := range strings.Lines(text) {
		if name := sectionName.FindString(line); name != "" {
			sections, defaults = append(sections, nil), nil
			if one := parseRule("* " + line[len(name):]); one != nil {
				defaults = one.Owners
			}
			continue
		}
		if rule := parseRule(line); rule != nil {
			if len(rule.Owners) == 0 {
				rule.Owners = defaults
			}
			last := len(sections) - 1
			sections[last] = append(sections[last], *rule)
		}
	}
	return sections
}

// parseRule returns the rule of a line, or nil if it has none.
func parseRule(line string) *codeowners.Rule {
	rules, err := codeowners.ParseFile(strings.NewReader(line))
	if err != nil || len(rules) == 0 {
		return nil
	}
	return &rules[0]
}
