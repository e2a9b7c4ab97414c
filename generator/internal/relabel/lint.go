package relabel

import (
	"fmt"
	"slices"
	"strings"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/model"
	"github.com/agentry-dev/agentry/internal/expression"
)

// Presence says whether a label is present.
type Presence int

// Any is for labels that may be present, Absent for labels that never are, Always for labels that always have a value.
const (
	Any Presence = iota
	Absent
	Always
)

// metaLabels is the prefix of the labels that service discovery gives to targets.
const metaLabels = "__meta_"

// maxLinted limits the number of earlier rules with which a rule is compared. Later rules are not linted.
const maxLinted = 200

// Labels describes the labels of targets or samples before their first rule.
type Labels struct {
	// What is "target" or "sample".
	What string
	// Needed is a label without which a target or sample is dropped.
	Needed string
	// Of returns the presence of a label.
	Of func(label string) Presence
	// Elsewhere returns the reason why a label is absent, and a hint.
	Elsewhere func(label string) (why, hint string)
}

// Targets describes the labels of targets of any discovery.
func Targets() Labels {
	return Labels{What: "target", Needed: "__address__", Of: func(label string) Presence {
		switch label {
		case "__address__":
			return Always
		case "__name__":
			return Absent
		}
		return Any
	}}
}

// Samples describes the labels of samples, which have lost the labels of discovery.
func Samples() Labels {
	return Labels{
		What: "sample", Needed: "__name__",
		Of: func(label string) Presence {
			switch {
			case label == "__name__":
				return Always
			case strings.HasPrefix(label, "__"):
				return Absent
			}
			return Any
		},
		Elsewhere: func(string) (string, string) {
			return "labels of the discovery are gone once a target is scraped",
				"copy it to another label in the rules for targets, and use that one here"
		},
	}
}

// Lint warns about a rule that reads discovery labels that are never present, or that drops everything. before are the
// earlier rules.
func (l Labels) Lint(before []*model.Relabel, r *model.Relabel) diag.List {
	if len(before) > maxLinted {
		return nil
	}
	drops := l.drops(before, r)
	var out diag.List
	for i, label := range r.SourceLabels {
		if strings.HasPrefix(label, metaLabels) && l.presence(before, label) == Absent {
			out = append(out, l.missing(fmt.Sprintf("sourceLabels[%d]", i), label, drops != ""))
			drops = ""
		}
	}
	if label := mapped(r); strings.HasPrefix(label, metaLabels) && l.presence(before, label) == Absent {
		out = append(out, l.missing("regex", label+"...", false))
	}
	if drops != "" {
		d := diag.DropsEverything.At("", "drops every %s: %s", l.What, drops)
		switch {
		case strings.HasPrefix(strings.ToLower(r.Action), "label"):
			d.Path = "regex"
		case len(r.SourceLabels) == 0:
			d.Hint = "name the labels to look at in sourceLabels"
		case l.What == "target" && slices.Contains(r.SourceLabels, "__name__"):
			d.Hint = "targets have no __name__: rules about samples belong to metricRelabelings"
		}
		out = append(out, d)
	}
	return out
}

// missing returns the warning about an absent discovery label.
func (l Labels) missing(field, label string, drops bool) diag.Diagnostic {
	why, hint := l.Elsewhere(label)
	d := diag.UnknownMetaLabel.At(field, "no %s has %s here: %s", l.What, label, why).WithHint(hint)
	if drops {
		d.Message += "; so the rule drops every " + l.What
	}
	return d
}

// mapped returns the common prefix of all labels that a labelmap copies.
func mapped(r *model.Relabel) string {
	if !strings.EqualFold(r.Action, "labelmap") || strings.Contains(r.Regex.Value, "|") {
		return ""
	}
	text := strings.TrimLeft(r.Regex.Value, "^(")
	if end := strings.IndexAny(text, `\.+*?()[]{}$`); end >= 0 {
		if strings.IndexByte("*?{", text[end]) >= 0 {
			end = max(end-1, 0) // the character before may be absent
		}
		text = text[:end]
	}
	return text
}

// drops returns the reason why a rule drops everything, whatever the labels are, or "".
func (l Labels) drops(before []*model.Relabel, r *model.Relabel) string {
	action := strings.ToLower(r.Action)
	drop := action == "drop"
	expr := "(.*)"
	if r.Regex.Set {
		expr = r.Regex.Value
	}
	switch action {
	case "labeldrop", "labelkeep":
		if matches(expr, l.Needed, action == "labeldrop") {
			return "it removes the label " + l.Needed
		}
		return ""
	case "keep", "drop":
	default:
		return ""
	}
	separator := defaultSeparator
	if r.Separator.Set {
		separator = r.Separator.Value
	}
	value := strings.Repeat(separator, max(len(r.SourceLabels)-1, 0))
	switch bare := strings.Trim(expr, "^$()"); {
	case r.Shard != model.NoShardValue:
	case len(r.SourceLabels) == 0:
		if matches(expr, "", drop) {
			return "without sourceLabels, regex is compared with the empty value"
		}
	case bare == ".*" && drop:
		return "regex matches every value"
	case bare == "" && !drop && (value != "" || l.any(before, r.SourceLabels, Always)):
		return "regex matches the empty value only, and the value is never empty"
	case bare == ".+" && drop && (value != "" || l.any(before, r.SourceLabels, Always)):
		return "regex matches every value that is not empty, and the value is never empty"
	case !l.any(before, r.SourceLabels, Any, Always) && matches(expr, value, drop):
		return fmt.Sprintf("no %s has %s here, so the value is always %q", l.What, strings.Join(r.SourceLabels, " or "),
			value)
	}
	return ""
}

// any reports whether one of the labels has one of the wanted presences.
func (l Labels) any(before []*model.Relabel, labels []string, wanted ...Presence) bool {
	return slices.ContainsFunc(labels, func(label string) bool {
		return slices.Contains(wanted, l.presence(before, label))
	})
}

// presence returns the presence of a label after some rules.
func (l Labels) presence(before []*model.Relabel, label string) Presence {
	known := l.Of(label)
	if known != Any && slices.ContainsFunc(before, func(r *model.Relabel) bool {
		return changes(r, label, known == Always)
	}) {
		return Any
	}
	return known
}

// changes reports whether a rule may set a label to another value or, with removes, remove it.
func changes(r *model.Relabel, label string, removes bool) bool {
	name := r.TargetLabel
	switch strings.ToLower(r.Action) {
	case "", "replace", "hashmod", "lowercase", "uppercase":
	case "labelmap":
		if name = defaultReplacement; r.Replacement.Set {
			name = r.Replacement.Value
		}
	case "labeldrop", "labelkeep":
		return removes
	default:
		return false
	}
	literal, _, expanded := strings.Cut(name, "$")
	return name == label || expanded && strings.HasPrefix(label, literal)
}

// matches reports whether the result of matching an expression with a whole value is as wanted. It returns false for
// an invalid expression, which is reported elsewhere.
func matches(expr, value string, wanted bool) bool {
	re, err := expression.Compile("^(?:" + expr + ")$")
	return err == nil && re.MatchString(value) == wanted
}
