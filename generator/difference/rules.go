package difference

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/prometheus/common/model"
)

// rules adds the consequences of a changed list of relabel rules. It compares the effects of the rules, regardless of
// their position.
func (u *unit) rules(isLogs bool, c agentChange, list Path) {
	var sides [2]map[effect][]string
	for i, top := range [...]*node{c.object.before, c.object.after} {
		sides[i] = map[effect][]string{}
		found := nodeAt(top, list, i == 0).read()
		if found == nil {
			continue
		}
		for _, item := range found.items {
			r := c.object.secrets.rule(item)
			if e := r.effect(list.findsTargets(), isLogs); e.kind != "" {
				sides[i][e] = append(sides[i][e], r.key())
			}
		}
	}
	all := maps.Clone(sides[0])
	maps.Copy(all, sides[1])
	subject := list.subject()
	for _, e := range slices.SortedFunc(maps.Keys(all), func(a, b effect) int { return cmp.Compare(a.what, b.what) }) {
		before, after := sides[0][e], sides[1][e]
		switch {
		case slices.Equal(before, after):
		case !e.selects:
			u.find(e.kind, subject, e.what)
		case len(after) == 0:
			u.find(e.kind, subject, "no longer "+e.what)
		case len(before) == 0:
			u.find(e.kind, subject, "now "+e.what)
		}
	}
}

// effect is the label or selection that a rule decides about.
type effect struct {
	kind    Kind
	what    string // a label, or the selection of targets, series or lines
	selects bool
}

// rule is a relabel rule with its defaults.
type rule struct {
	action, target, regex, separator, replacement string
	sources                                       []string
	rest                                          string
}

// rule reads a rule, with placeholders for hidden texts.
func (s *secrets) rule(n *node) rule {
	text := func(field, standard string) string {
		if f := n.get(field); f != nil {
			return s.text(f)
		}
		return standard
	}
	r := rule{
		action: strings.ToLower(text("action", "replace")), target: text("target_label", ""),
		regex:     text("regex", "(.*)"),
		separator: text("separator", ";"), rest: text("modulus", ""),
	}
	r.replacement = strings.ReplaceAll(text("replacement", "$1"), "${1}", "$1")
	for _, label := range n.list("source_labels") {
		r.sources = append(r.sources, s.text(label))
	}
	return r
}

// key returns a text that is equal for equivalent rules.
func (r rule) key() string {
	return strings.Join(append(r.sources, r.action, r.target, r.regex, r.separator, r.replacement, r.rest), "\x00")
}

// selects reports whether the rule decides what is kept.
func (r rule) selects() bool {
	return slices.Contains([]string{"keep", "drop", "keepequal", "dropequal"}, r.action)
}

// findsTargets reports whether the rules in a list apply to targets rather than series: the relabel rules of a job, or
// of any component except prometheus.relabel.
func (p Path) findsTargets() bool {
	switch p[len(p)-1].Field {
	case "relabel_configs":
		return true
	case "rule":
		return len(p) < 2 || !strings.HasPrefix(p[len(p)-2].Name, "prometheus.relabel.")
	}
	return false
}

// effect returns the effect of the rule. A rule has none that only sets a temporary label for later rules, or how often
// the target is scraped: its targets and series stay the same.
func (r rule) effect(ofTargets, isLogs bool) effect {
	identity, filter := SeriesIdentity, SeriesFilter
	if ofTargets {
		filter = Targets
	}
	if isLogs {
		identity = LogsIdentity
	}
	isInner := func(label string) bool { return strings.HasPrefix(label, "__tmp") }
	switch {
	case r.selects() && len(r.sources) > 0 && !slices.ContainsFunc(r.sources, func(l string) bool {
		return !isInner(l)
	}), isInner(r.target), r.target == model.ScrapeIntervalLabel, r.target == model.ScrapeTimeoutLabel:
		return effect{}
	case r.selects():
		return effect{filter, r.String(), true}
	case strings.HasPrefix(r.target, "__"):
		return effect{kind: filter, what: "label " + r.target}
	case r.target != "":
		return effect{kind: identity, what: "label " + r.target}
	}
	return effect{kind: identity, what: r.String()}
}

// String returns the rule in words.
func (r rule) String() string {
	if len(r.sources) == 0 {
		return r.action + " " + r.regex
	}
	return r.action + " where " + strings.Join(r.sources, ", ") + " is " + r.regex
}
