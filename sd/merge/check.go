package merge

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"slices"
)

// Reason is the reason for dropping a group.
type Reason string

// The reasons, which are label values of a metric.
const (
	// ReasonMalformed: not an object of a list of targets and a map of labels, all strings.
	ReasonMalformed Reason = "malformed"
	// ReasonTooLarge: more bytes, more labels, or a longer name or value than the limits.
	ReasonTooLarge Reason = "too_large"
	// ReasonNoTarget: nothing to scrape.
	ReasonNoTarget Reason = "no_target"
	// ReasonForeignTarget: a target that is not the address that was asked.
	ReasonForeignTarget Reason = "foreign_target"
	// ReasonLabelName: a name that the agent's own http_sd client refuses.
	ReasonLabelName Reason = "label_name"
	// ReasonReservedLabel: a name whose value a pod must not decide.
	ReasonReservedLabel Reason = "reserved_label"
	// ReasonScheme: a scheme other than the one that was used.
	ReasonScheme Reason = "scheme"
)

// Reasons lists all reasons.
func Reasons() []Reason {
	return []Reason{ReasonMalformed, ReasonTooLarge, ReasonNoTarget, ReasonForeignTarget, ReasonLabelName,
		ReasonReservedLabel, ReasonScheme}
}

// Labels with a meaning here.
const (
	// OwnerNameLabel and OwnerNamespaceLabel name the GrafanaAgent. This package sets them.
	OwnerNameLabel      = ownerPrefix + "name"
	OwnerNamespaceLabel = ownerPrefix + "namespace"

	ownerPrefix      = "__meta_agentoperator_grafanaagent_"
	schemeLabel      = "__scheme__"
	integrationLabel = "__meta_agent_integration_name"
	paramPrefix      = "__param_"
)

// identity lists the labels that tell one group of a pod from another. The path is not one of
// them: it moves when another instance of an integration comes or goes.
func identity() []string {
	return []string{
		integrationLabel, "__meta_agent_integration_instance", "instance",
		"__meta_agentoperator_integration_cr_namespace", "__meta_agentoperator_integration_cr_name",
	}
}

// fault is the error of a group that is dropped.
type fault struct {
	reason Reason
	text   string
}

func faultf(reason Reason, format string, args ...any) *fault {
	return &fault{reason: reason, text: short(fmt.Sprintf(format, args...))}
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
	// decoded and text belong to the current group, and groups are written to out. They are reused, because a round
	// has thousands of groups.
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
func (c *checker) group(raw []byte) (Group, *fault) {
	if len(raw) > c.limits.GroupBytes {
		return Group{}, faultf(ReasonTooLarge, "%d bytes", len(raw))
	}
	if fault := c.decoded.read(raw); fault != nil {
		return Group{}, fault
	}
	labels := c.decoded.labels
	if len(labels) > c.limits.LabelsPerGroup {
		return Group{}, faultf(ReasonTooLarge, "%d labels", len(labels))
	}
	if fault := c.targets(c.decoded.targets); fault != nil {
		return Group{}, fault
	}
	integration := ""
	for _, l := range labels {
		if fault := c.label(l.name, l.value); fault != nil {
			return Group{}, fault
		}
		if string(l.name) == integrationLabel {
			integration = string(l.value)
		}
	}
	key := c.key(labels)
	labels = slices.DeleteFunc(labels, func(l label) bool {
		return len(l.value) == 0 || hasPrefix(l.name, ownerPrefix) // A label without a value is absent.
	})
	labels = append(labels, c.owner...)
	c.decoded.labels = labels // Keeps the capacity.
	sortLabels(labels)
	start := len(c.out)
	c.out = appendGroup(c.out, c.target, labels)
	return Group{key: key, integration: integration, json: c.out[start:len(c.out):len(c.out)]}, nil
}

func (c *checker) targets(targets [][]byte) *fault {
	if len(targets) == 0 {
		return faultf(ReasonNoTarget, "no targets")
	}
	for _, t := range targets {
		if t == nil {
			return faultf(ReasonMalformed, "a target is null")
		}
		if !bytes.Equal(t, c.target) {
			return faultf(ReasonForeignTarget, "%q", short(string(t)))
		}
	}
	return nil
}

func (c *checker) label(name, value []byte) *fault {
	switch {
	case len(name) > c.limits.NameBytes:
		return faultf(ReasonTooLarge, "a label name of %d bytes", len(name))
	case len(value) > c.limits.ValueBytes:
		return faultf(ReasonTooLarge, "%d bytes in label %q", len(value), name)
	case !legacyName(name):
		return faultf(ReasonLabelName, "%q", name)
	case string(name) == schemeLabel && len(value) > 0 && string(value) != c.from.Scheme:
		return faultf(ReasonScheme, "%q, but the pod was asked over %s", value, c.from.Scheme)
	case hasPrefix(name, "__") && !mayUse(name):
		return faultf(ReasonReservedLabel, "%q", name)
	}
	return nil
}

// mayUse reports whether a pod may set this label that begins with two underscores.
func mayUse(name []byte) bool {
	return string(name) == "__metrics_path__" || string(name) == schemeLabel || hasPrefix(name, "__meta_") ||
		hasPrefix(name, paramPrefix)
}

func hasPrefix(name []byte, prefix string) bool {
	return len(name) >= len(prefix) && string(name[:len(prefix)]) == prefix
}

// legacyName reports whether any http_sd client takes the name: [a-zA-Z_][a-zA-Z0-9_]*.
func legacyName(name []byte) bool {
	for i, b := range name {
		letter := 'a' <= b && b <= 'z' || 'A' <= b && b <= 'Z' || b == '_'
		if !letter && (i == 0 || !digit(b)) {
			return false
		}
	}
	return len(name) > 0
}

// key hashes the labels that identify the group within its pod. The labels are in order.
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
