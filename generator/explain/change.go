package explain

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/agentry-dev/agentry/generator/manifest"
)

// nameLabel is the label with the name of a namespace. The API server sets it, and nobody can change it.
const nameLabel = corev1.LabelMetadataName

// Miss is a selector that does not choose an object.
type Miss struct {
	By    Object `json:"by"`
	Field Field  `json:"field"`
	// Object is the object that is not chosen, where that is not the explained one.
	Object *Object `json:"object,omitempty"`
	// Reasons are sentences, one for each requirement that is not met.
	Reasons []string `json:"reasons"`
	// Away counts the changes in words, such as "one label away".
	Away string `json:"away,omitempty"`
	// Changes make the selector choose the object when all of them are made. They are empty if nothing helps.
	Changes []Change `json:"changes,omitempty"`
}

// Change is an edit of one manifest: of a label, or of a selector.
type Change struct {
	Object Object `json:"object"`
	// Label is set to Value, or removed.
	Label  string `json:"label,omitempty"`
	Value  string `json:"value,omitempty"`
	Remove bool   `json:"remove,omitempty"`
	// Field becomes the selector To.
	Field string                `json:"field,omitempty"`
	To    *metav1.LabelSelector `json:"to,omitempty"`
	// IsNew means that the object has no manifest yet.
	IsNew bool `json:"new,omitempty"`
}

// String returns the change as a sentence.
func (c Change) String() string {
	id := c.Object.ID().String()
	switch {
	case c.Field != "":
		text, _ := json.Marshal(c.To) // a selector can always be encoded
		return "set " + c.Field + " of " + id + " to " + string(text)
	case c.Remove:
		return "remove label " + c.Label + " from " + id
	case c.IsNew:
		return "add a manifest of " + id + " with label " + c.Label + "=" + c.Value
	}
	return "set label " + c.Label + "=" + c.Value + " on " + id
}

// miss explains why a choice of a parent does not select an object.
func (x *selectors) miss(p parent, c *choice, o *manifest.Object) Miss {
	m := Miss{By: x.describe(p.object), Field: x.field(p.object, c.Path)}
	if c.invalid != nil {
		m.Reasons = []string{"the selector is invalid: " + c.invalid.Error()}
		return m
	}
	own := o.Labels
	var fixed bool
	if c.Selector == nil {
		m.Reasons = append(m.Reasons, c.Path+" is not set: it selects nothing")
		m.Changes = append(m.Changes, Change{Object: name(p.object), Field: c.Path,
			To: &metav1.LabelSelector{MatchLabels: own.Map()}})
		fixed = true
	} else {
		wants := unmet(c.selector, own)
		var changes []Change
		changes, fixed = fix(c.selector, own, wants, name(o))
		m.Reasons, m.Changes = append(m.Reasons, reasons("selector", "label", wants)...), changes
	}
	isFixed := x.missNamespace(&m, p, c, o)
	if !fixed || !isFixed {
		m.Reasons = append(m.Reasons, "no labels meet all of the selector")
		m.Changes = nil
	}
	m.Away = away(m.Changes)
	return m
}

// missNamespace adds the reasons and changes about the object's namespace. It returns false if no changes help.
func (x *selectors) missNamespace(m *Miss, p parent, c *choice, o *manifest.Object) bool {
	in := x.matchNamespace(p, c, o.Namespace)
	if in.selected {
		return true
	}
	set, isFixed := x.labelsOf(o.Namespace), true
	if len(in.wants) > 0 {
		namespace := Object{Kind: "Namespace", Name: o.Namespace}
		var changes []Change
		changes, isFixed = fix(c.namespaces, set, in.wants, namespace)
		isNew := x.render.Set.Get(namespace.ID()) == nil
		for i := range changes {
			changes[i].IsNew = isNew
		}
		if m.Changes = append(m.Changes, changes...); isNew {
			m.Reasons = append(m.Reasons, "namespace "+o.Namespace+
				" has no manifest here, so it has only its name label")
		}
		m.Reasons = append(m.Reasons, reasons("namespace selector", "label of namespace "+o.Namespace, in.wants)...)
	}
	if in.needsWidening {
		where := "it looks only in namespaces with " + selectorText(c.namespaces)
		if c.NamespaceSelector == nil {
			where = c.NamespacePath + " is not set: it looks only in its own namespace, " + p.object.Namespace
		}
		m.Reasons = append(m.Reasons, where)
		m.Changes = append(m.Changes, Change{Object: name(p.object), Field: c.NamespacePath,
			To: widen(c.NamespaceSelector, p.object.Namespace, o.Namespace)})
	}
	return isFixed
}

// reasons says for each requirement which label it asks for and what the label is.
func reasons(selector, label string, wants []Requirement) (out []string) {
	for _, want := range wants {
		text := selector + " wants `" + want.Text + "`, "
		switch {
		case !want.Has:
			text += label + " `" + want.Label + "` is not set"
		case want.Value == "":
			text += label + " is empty"
		default:
			text += label + " is `" + want.Value + "`"
		}
		out = append(out, text)
	}
	return out
}

// fix returns the changes of labels by which all requirements are met, one for each label. It returns false if
// requirements contradict each other.
func fix(s labels.Selector, own labels.Labels, wants []Requirement, of Object) (changes []Change, ok bool) {
	all := requirementsOf(s, own)
	for _, want := range wants {
		if slices.ContainsFunc(changes, func(c Change) bool { return c.Label == want.Label }) {
			continue
		}
		c, ok := fixed(s, all, want.Label)
		if !ok {
			return nil, false
		}
		c.Object = of
		changes = append(changes, c)
	}
	return changes, true
}

// fixed returns the change of one label that meets all requirements about this label. It tries the values that the
// requirements name, then none, then two that they may not know.
func fixed(s labels.Selector, all []Requirement, label string) (Change, bool) {
	var tries []Change
	for _, want := range all {
		if want.Label == label && isOneOf(want.operator) {
			for _, value := range want.values {
				tries = append(tries, Change{Label: label, Value: value})
			}
		}
	}
	tries = append(tries, Change{Label: label, Remove: true}, Change{Label: label, Value: "true"},
		Change{Label: label, Value: "other"})
	requirements, _ := s.Requirements()
	i := slices.IndexFunc(tries, func(c Change) bool {
		set := labels.Set{}
		if !c.Remove {
			set[label] = c.Value
		}
		return !slices.ContainsFunc(requirements, func(r labels.Requirement) bool {
			return r.Key() == label && !r.Matches(set)
		})
	})
	if i < 0 {
		return Change{}, false
	}
	return tries[i], true
}

// widen returns a selector of namespaces that also chooses the namespace more, by its name. A nil selector chooses the
// parent's own namespace.
func widen(s *metav1.LabelSelector, own, more string) *metav1.LabelSelector {
	if s == nil {
		return &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{named(own, more)}}
	}
	out := s.DeepCopy()
	var rest []metav1.LabelSelectorRequirement
	for _, e := range out.MatchExpressions {
		if e.Key != nameLabel {
			rest = append(rest, e)
			continue
		}
		switch e.Operator {
		case metav1.LabelSelectorOpIn:
			rest = append(rest, named(append(e.Values, more)...))
		case metav1.LabelSelectorOpNotIn:
			if e.Values = slices.DeleteFunc(e.Values, func(v string) bool { return v == more }); len(e.Values) > 0 {
				rest = append(rest, e)
			}
		case metav1.LabelSelectorOpExists:
			rest = append(rest, e)
		case metav1.LabelSelectorOpDoesNotExist: // every namespace has a name
		}
	}
	if name, ok := out.MatchLabels[nameLabel]; ok {
		delete(out.MatchLabels, nameLabel)
		rest = append(rest, named(name, more))
	}
	out.MatchExpressions = rest
	return out
}

// named returns the requirement that a namespace has one of the names.
func named(names ...string) metav1.LabelSelectorRequirement {
	slices.Sort(names)
	return metav1.LabelSelectorRequirement{Key: nameLabel, Operator: metav1.LabelSelectorOpIn,
		Values: slices.Compact(names)}
}

// away counts changes in words.
func away(changes []Change) string {
	if len(changes) == 0 {
		return ""
	}
	var own, namespace, fields int
	for _, c := range changes {
		switch {
		case c.Field != "":
			fields++
		case c.Object.Kind == "Namespace":
			namespace++
		default:
			own++
		}
	}
	var parts []string
	for _, count := range [...]struct {
		n    int
		noun string
	}{{own, "label"}, {namespace, "label of the namespace"}, {fields, "selector"}} {
		if count.n > 0 {
			parts = append(parts, inWords(count.n)+" "+plural(count.noun, count.n))
		}
	}
	return strings.Join(parts, " and ") + " away"
}

func inWords(n int) string {
	words := [...]string{"no", "one", "two", "three", "four", "five"}
	if n < len(words) {
		return words[n]
	}
	return strconv.Itoa(n)
}

func plural(noun string, n int) string {
	if n == 1 || strings.HasSuffix(noun, "s") {
		return noun
	}
	first, rest, found := strings.Cut(noun, " ")
	if found {
		return first + "s " + rest
	}
	return noun + "s"
}
