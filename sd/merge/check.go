package merge

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"
)

// Reason is why a group was dropped.
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
	// ReasonReservedLabel: a name with a meaning that a pod has no say in.
	ReasonReservedLabel Reason = "reserved_label"
	// ReasonScheme: a scheme other than the one that was used.
	ReasonScheme Reason = "scheme"
)

// Reasons lists all reasons.
func Reasons() []Reason {
	return []Reason{ReasonMalformed, ReasonTooLarge, ReasonNoTarget, ReasonForeignTarget, ReasonLabelName, ReasonReservedLabel, ReasonScheme}
}

// Labels with a meaning here.
const (
	// OwnerNameLabel and OwnerNamespaceLabel name the GrafanaAgent. They are always ours.
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

// fault is why one group is dropped.
type fault struct {
	reason Reason
	text   string
}

func faultf(reason Reason, format string, args ...any) *fault {
	return &fault{reason: reason, text: short(fmt.Sprintf(format, args...))}
}

// checker checks the groups of one answer.
type checker struct {
	from     Source
	target   string
	limits   Limits
	identity []string
}

func newChecker(from Source, limits Limits) *checker {
	return &checker{from: from, target: from.Addr.String(), limits: limits, identity: identity()}
}

// group checks one element of the answer.
func (c *checker) group(raw []byte) (Group, *fault) {
	if len(raw) > c.limits.GroupBytes {
		return Group{}, faultf(ReasonTooLarge, "%d bytes", len(raw))
	}
	targets, labels, fault := decode(raw)
	if fault != nil {
		return Group{}, fault
	}
	if len(labels) > c.limits.LabelsPerGroup {
		return Group{}, faultf(ReasonTooLarge, "%d labels", len(labels))
	}
	if fault := c.targets(targets); fault != nil {
		return Group{}, fault
	}
	names := slices.Sorted(maps.Keys(labels)) // So that the fault that is told is always the same.
	for _, name := range names {
		if fault := c.label(name, labels[name]); fault != nil {
			return Group{}, fault
		}
	}
	key := c.key(names, labels)
	integration := strings.Clone(labels[integrationLabel])
	maps.DeleteFunc(labels, func(name, value string) bool {
		return value == "" || strings.HasPrefix(name, ownerPrefix) // No value is no label.
	})
	labels[OwnerNameLabel], labels[OwnerNamespaceLabel] = c.from.Owner.Name, c.from.Owner.Namespace
	return Group{key: key, integration: integration, json: appendGroup(nil, c.target, labels)}, nil
}

// decode reads one element of the answer, strictly.
func decode(raw []byte) ([]*string, map[string]string, *fault) {
	if raw[0] != '{' {
		return nil, nil, faultf(ReasonMalformed, "not an object")
	}
	if !utf8.Valid(raw) {
		return nil, nil, faultf(ReasonMalformed, "not UTF-8")
	}
	var group struct {
		Targets []*string          `json:"targets"`
		Labels  map[string]*string `json:"labels"`
	}
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&group); err != nil {
		return nil, nil, faultf(ReasonMalformed, "%v", err)
	}
	labels := make(map[string]string, len(group.Labels)+2)
	for name, value := range group.Labels {
		if value == nil {
			return nil, nil, faultf(ReasonMalformed, "a label is null")
		}
		labels[name] = *value
	}
	return group.Targets, labels, nil
}

func (c *checker) targets(targets []*string) *fault {
	if len(targets) == 0 {
		return faultf(ReasonNoTarget, "no targets")
	}
	for _, t := range targets {
		if t == nil {
			return faultf(ReasonMalformed, "a target is null")
		}
		if *t != c.target {
			return faultf(ReasonForeignTarget, "%q", short(*t))
		}
	}
	return nil
}

func (c *checker) label(name, value string) *fault {
	switch {
	case len(name) > c.limits.NameBytes:
		return faultf(ReasonTooLarge, "a label name of %d bytes", len(name))
	case len(value) > c.limits.ValueBytes:
		return faultf(ReasonTooLarge, "%d bytes in label %q", len(value), name)
	case !legacyName(name):
		return faultf(ReasonLabelName, "%q", name)
	case name == schemeLabel && value != "" && value != c.from.Scheme:
		return faultf(ReasonScheme, "%q, but the pod was asked over %s", value, c.from.Scheme)
	case strings.HasPrefix(name, "__") && !mayUse(name):
		return faultf(ReasonReservedLabel, "%q", name)
	}
	return nil
}

// mayUse reports whether a pod may set this label that begins with two underscores.
func mayUse(name string) bool {
	return name == "__metrics_path__" || name == schemeLabel || strings.HasPrefix(name, "__meta_") || strings.HasPrefix(name, paramPrefix)
}

// legacyName reports whether any http_sd client takes the name: [a-zA-Z_][a-zA-Z0-9_]*.
func legacyName(name string) bool {
	for i := range len(name) {
		b := name[i]
		letter := 'a' <= b && b <= 'z' || 'A' <= b && b <= 'Z' || b == '_'
		if !letter && (i == 0 || b < '0' || b > '9') {
			return false
		}
	}
	return name != ""
}

// key hashes what tells the group from others of the pod. Names are sorted.
func (c *checker) key(names []string, labels map[string]string) [keySize]byte {
	var text []byte
	for _, name := range names {
		if slices.Contains(c.identity, name) || strings.HasPrefix(name, paramPrefix) {
			text = appendString(appendString(text, name), labels[name])
		}
	}
	sum := sha256.Sum256(text)
	return [keySize]byte(sum[:])
}
