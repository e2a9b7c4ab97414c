package chart

import (
	"fmt"
	"slices"
	"strings"

	sigsyaml "sigs.k8s.io/yaml"

	"github.com/agentry-dev/agentry/inputs/helm"
)

// awayDependency is a dependency that cannot be fetched.
type awayDependency struct {
	of  []*dependency // the chart's metadata may use it several times, under other names
	err error
}

// leaveOut notes that a dependency cannot be fetched, and puts an empty chart in its place.
func (b *builder) leaveOut(d *dependency, err error) {
	of := slices.DeleteFunc(slices.Clone(b.metadata.Dependencies), func(other *dependency) bool {
		return other.Name != d.Name
	})
	if len(of) == 0 { // only the lock file has it
		of = []*dependency{d}
	}
	text, failed := sigsyaml.Marshal(metadata{APIVersion: "v2", Name: d.Name, Version: "0.0.0"})
	if failed != nil {
		return // cannot happen: it is text only
	}
	b.local.Files = append(b.local.Files, helm.File{Data: text,
		Name: fmt.Sprintf("%saway-%d/%s", subcharts, len(b.local.away), FileName)})
	b.local.away = append(b.local.away, awayDependency{of, err})
}

// Check returns the error about a dependency that could not be fetched, unless the values of the release turn it off.
func (l *Local) Check(r helm.Release) error {
	if len(l.away) == 0 {
		return nil
	}
	values := map[string]any{}
	for _, f := range r.Chart {
		if f.Name == "values.yaml" {
			_ = sigsyaml.Unmarshal(f.Data, &values) // Helm's loader reports the error
		}
	}
	values = helm.Merge(values, r.Values)
	for _, away := range l.away {
		for _, d := range away.of {
			if !d.isOff(values) {
				return away.err
			}
		}
	}
	return nil
}

// isOff reports whether values turn a dependency off: see processDependencyTags and processDependencyConditions in
// Helm's pkg/chart/v2/util. A condition that only the dependency's own values can decide does not.
func (d *dependency) isOff(values map[string]any) bool {
	own := d.Name
	if d.Alias != "" {
		own = d.Alias
	}
	for condition := range strings.SplitSeq(strings.TrimSpace(d.Condition), ",") {
		var value any = values
		for step := range strings.SplitSeq(condition, ".") {
			m, _ := value.(map[string]any)
			value = m[step]
		}
		if isOn, decides := value.(bool); decides {
			return !isOn
		}
		if strings.HasPrefix(condition, own+".") {
			return false
		}
	}
	tags, _ := values["tags"].(map[string]any)
	isOff := false
	for _, tag := range d.Tags {
		isOn, decides := tags[tag].(bool)
		if isOn {
			return false
		}
		isOff = isOff || decides
	}
	return isOff
}
