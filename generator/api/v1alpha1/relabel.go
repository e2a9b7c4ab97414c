package v1alpha1

import (
	"slices"
	"strings"
)

// RelabelConfig is one relabelling rule, as Prometheus defines them. The pointers tell an
// empty string from an absent one, for which Prometheus has defaults.
type RelabelConfig struct {
	// Labels whose values are joined and matched.
	SourceLabels []LabelName `json:"sourceLabels,omitempty"`
	// What the values are joined with. Absent: a semicolon.
	Separator *string `json:"separator,omitempty"`
	// Label to write to.
	TargetLabel string `json:"targetLabel,omitempty"`
	// Regular expression (RE2, anchored) to match. Absent: (.*).
	Regex *string `json:"regex,omitempty"`
	// Modulus of the hash of the joined values.
	// +kubebuilder:validation:Format=int64
	Modulus int64 `json:"modulus,omitempty"`
	// What to write, with $1 for the regular expression's groups. Absent: $1.
	Replacement *string `json:"replacement,omitempty"`
	// What to do.
	// +kubebuilder:default=replace
	// +kubebuilder:validation:Enum=replace;Replace;keep;Keep;drop;Drop;hashmod;HashMod;labelmap;LabelMap;labeldrop;LabelDrop;labelkeep;LabelKeep;lowercase;Lowercase;uppercase;Uppercase;keepequal;KeepEqual;dropequal;DropEqual
	Action string `json:"action,omitempty"`
}

// LabelName is a label's name in Prometheus's classic alphabet.
//
// +kubebuilder:validation:Pattern=`^[a-zA-Z_][a-zA-Z0-9_]*$`
type LabelName string

// IsPodLogPath reports whether the rule is the one by which the operator sets the path of a pod's own log files.
func (in *RelabelConfig) IsPodLogPath() bool {
	is := func(value *string, want ...string) bool {
		return value == nil && len(want) > 1 || value != nil && *value == want[0]
	}
	return slices.Equal(in.SourceLabels,
		[]LabelName{"__meta_kubernetes_pod_uid", "__meta_kubernetes_pod_container_name"}) &&
		is(in.Separator, "/") && is(in.Regex, "(.*)", "") &&
		(in.Action == "" || strings.EqualFold(in.Action, "replace")) &&
		in.TargetLabel == "__path__" && is(in.Replacement, "/var/log/pods/*$1/*.log")
}
