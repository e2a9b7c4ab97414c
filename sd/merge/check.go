package merge

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"slices"
)

// Reason is a reason for dropping a group.
type Reason string

// The reasons, which are label values of a metric.
const (
	// ReasonMalformed: not an object with a list of targets and a map of labels, all strings.
	ReasonMalformed Reason = "malformed"
	// ReasonTooLarge: more bytes, more labels, or a longer name or value than the limits.
	ReasonTooLarge Reason = "too_large"
	// ReasonNoTarget: nothing to scrape.
	ReasonNoTarget Reason = "no_target"
	// ReasonForeignTarget: a target other than the address that was asked.
	ReasonForeignTarget Reason = "foreign_target"
	// ReasonLabelName: a label name that the agent's http_sd client refuses.
	ReasonLabelName Reason = "label_name"
	// ReasonReservedLabel: a label that a pod must not set.
	ReasonReservedLabel Reason = "reserved_label"
	// ReasonScheme: a scheme other than the request's.
	ReasonScheme Reason = "scheme"
)

// Reasons lists all reasons.
func Reasons() []Reason {
	return []Reason{ReasonMalformed, ReasonTooLarge, ReasonNoTarget, ReasonForeignTarget, ReasonLabelName,
		ReasonReservedLabel, ReasonScheme}
}

// Labels with a special meaning.
const (
	// OwnerNameLabel and OwnerNamespaceLabel name the GrafanaAgent. This package sets them.
	OwnerNameLabel      = ownerPrefix + "name"
	OwnerNamespaceLabel = ownerPrefix + "namespace"

	ownerPrefix      = "__meta_agentoperator_grafanaagent_"
	schemeLabel      = "__scheme__"
	integrationLabel = "__meta_agent_integration_name"
	paramPrefix      = "__param_"
)

// identity lists the labels that tell one group of a pod from another. The path is not among them: it changes when
// another instance of an integration comes or goes.
func identity() []string {
	return []string{
		integrationLabel, "__meta_agent_integration_instance", "instance",
		"__meta_agentoperator_integration_cr_namespace", "__meta_agentoperator_integration_cr_name",
	}
}

// rejection says why a group is dropped.
type rejection struct {
	reason Reason
	text   string
}

func rejectf(reason Reason, format string, args ...any) *rejection {
	return &rejection{reason: reason, text: short(fmt.Sprintf(format, args...))}
}

// label is a label of a group.
type label struct{ name, value []byte }

// checker checks the groups of one answer.
type checker struct {
	from     Source
	target   []byte
	owner    []label
	limits   Limits
	identity []string
	// decoded and text are buffers for the current group, reused because a round has thousands of groups. out collects
	// the JSON of all groups.
	decoded decoded
	text    []byte
	out     []byte
}

func newChecker(from Source, limits Limits) *checker {
	return &checker{
		from: from, target: []byte(from.Addr.String()), limits: limits, identity: identity(),
		owner: []label{{[]byte(OwnerNameLabel), []byte(from.Owner.Name)},
			{[]byte(OwnerNamespaceLabel), []byte(from.Owner.Namespace)}},
	}
}

// group checks one element of the answer.
func (c *checker) group(raw []byte) (Group, *rejection) {
	if len(raw) > c.limits.GroupBytes {
		return Group{}, rejectf(ReasonTooLarge, "%d bytes", len(raw))
	}
	if rejected := c.decoded.read(raw); rejected != nil {
		return Group{}, rejected
	}
	labels := c.decoded.labels
	if len(labels) > c.limits.LabelsPerGroup {
		return Group{}, rejectf(ReasonTooLarge, "%d labels", len(labels))
	}
	if rejected := c.targets(c.decoded.targets); rejected != nil {
		return Group{}, rejected
	}
	integration := ""
	for _, l := range labels {
		if rejected := c.label(l.name, l.value); rejected != nil {
			return Group{}, rejected
		}
		if string(l.name) == integrationLabel {
			integration = string(l.value)
		}
	}
	key := c.key(labels)
	labels = slices.DeleteFunc(labels, func(l label) bool {
		return len(l.value) == 0 || hasPrefix(l.name, ownerPrefix) // An empty label is the same as none.
	})
	labels = append(labels, c.owner...)
	c.decoded.labels = labels // Keeps the capacity.
	sortLabels(labels)
	start := len(c.out)
	c.out = appendGroup(c.out, c.target, labels)
	return Group{key: key, integration: integration, json: c.out[start:len(c.out):len(c.out)]}, nil
}

func (c *checker) targets(targets [][]byte) *rejection {
	if len(targets) == 0 {
		return rejectf(ReasonNoTarget, "no targets")
	}
	for _, t := range targets {
		if t == nil {
			return rejectf(ReasonMalformed, "a target is null")
		}
		if !bytes.Equal(t, c.target) {
			return rejectf(ReasonForeignTarget, "%q", short(string(t)))
		}
	}
	return nil
}

func (c *checker) label(name, value []byte) *rejection {
	switch {
	case len(name) > c.limits.NameBytes:
		return rejectf(ReasonTooLarge, "a label name of %d bytes", len(name))
	case len(value) > c.limits.ValueBytes:
		return rejectf(ReasonTooLarge, "%d bytes in label %q", len(value), name)
	case !legacyName(name):
		return rejectf(ReasonLabelName, "%q", name)
	case string(name) == schemeLabel && len(value) > 0 && string(value) != c.from.Scheme:
		return rejectf(ReasonScheme, "%q, but the pod was asked over %s", value, c.from.Scheme)
	case hasPrefix(name, "__") && !mayUse(name):
		return rejectf(ReasonReservedLabel, "%q", name)
	}
	return nil
}

// mayUse reports whether a pod may set a label that begins with two underscores.
func mayUse(name []byte) bool {
	return string(name) == "__metrics_path__" || string(name) == schemeLabel || hasPrefix(name, "__meta_") ||
		hasPrefix(name, paramPrefix)
}

func hasPrefix(name []byte, prefix string) bool {
	return len(name) >= len(prefix) && string(name[:len(prefix)]) == prefix
}

// legacyName reports whether every http_sd client accepts the label name: [a-zA-Z_][a-zA-Z0-9_]*.
func legacyName(name []byte) bool {
	for i, b := range name {
		letter := 'a' <= b && b <= 'z' || 'A' <= b && b <= 'Z' || b == '_'
		if !letter && (i == 0 || !digit(b)) {
			return false
		}
	}
	return len(name) > 0
}

// key hashes the labels that identify the group within its pod. The labels must be sorted.
func (c *checker) key(labels []label) [keySize]byte {
	c.text = c.text[:0]
	for _, l := range labels {
		if hasPrefix(l.name, paramPrefix) || slices.ContainsFunc(c.identity, func(name string) bool {
			return string(l.name) == name
		}) {
			c.text = appendString(appendString(c.text, l.name), l.value)
		}
	}
	sum := sha256.Sum256(c.text)
	return [keySize]byte(sum[:])
}
