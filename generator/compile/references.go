package compile

import (
	"fmt"
	"strings"

	"github.com/agentry-dev/agentry/generator/api/v1alpha1"
	"github.com/agentry-dev/agentry/generator/compile/integration"
	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/hierarchy"
	"github.com/agentry-dev/agentry/generator/manifest"
)

// resolve checks that the instances that an integration refers to are in its pod.
func (c integrationChecks) resolve(r *running) diag.List {
	var out diag.List
	for _, ref := range r.MetricsInstances {
		out = append(out, c.resolveOne("MetricsInstance", "spec.metrics.instanceSelector", ref,
			metricsObjects(c.hierarchy))...)
	}
	for _, ref := range r.LogsInstances {
		out = append(out, c.resolveOne("LogsInstance", "spec.logs.instanceSelector", ref, logsObjects(c.hierarchy))...)
	}
	for _, ref := range r.TracesInstances {
		out = append(out, diag.InstanceNotSelected.At(ref.Path, "these agents run no traces").
			WithHint("leave the field out"))
	}
	return out
}

// resolveOne checks a reference against the selected instances of its kind.
func (c integrationChecks) resolveOne(kind, selector string, ref integration.Reference,
	selected []*manifest.Object) diag.List {
	f := diag.Diagnostic{Severity: diag.Error, Code: diag.InstanceNotSelected, Path: ref.Path}
	namespace, name, _ := strings.Cut(ref.Name, "/")
	id := manifest.ID{Kind: kind, Namespace: namespace, Name: name}
	f.Related = []diag.Object{c.hierarchy.Agent.Ref()}
	if name != "" {
		f.Related = append(f.Related, diag.Object{APIVersion: v1alpha1.APIVersion, Kind: kind, Namespace: namespace,
			Name: name})
	}
	var names []string
	for _, o := range selected {
		if o.ID == id && !c.left[id] {
			return nil
		}
		names = append(names, o.Namespace+"/"+o.Name)
	}
	if c.set.Get(id) == nil {
		c.secrets.Look(id) // remember the lookup: the object may be added later
	}
	if c.left[id] || c.set.IsLeftOut(id) {
		f.Code, f.Hint = diag.FollowsError, "correct the "+kind
		f.Message = fmt.Sprintf("%s %q is left out because of an error, and without it the agent would not start", kind,
			ref.Name)
		return diag.List{f}
	}
	f.Message = fmt.Sprintf("%s %q is not one of GrafanaAgent %s: the agent would not start", kind, ref.Name,
		c.hierarchy.Name())
	if ref.Path == "spec.config" { // the field is absent
		f.Message = fmt.Sprintf(
			"without the field for its %s the integration uses %q, which is not one of GrafanaAgent %s: the agent "+
				"would not start", kind, ref.Name, c.hierarchy.Name())
	}
	f.Hint = "it is written namespace/name, and " + selector + " must select it; "
	if len(names) == 0 {
		f.Hint += "nothing is selected"
	} else {
		f.Hint += "selected are " + strings.Join(names, ", ")
	}
	return diag.List{f}
}

func metricsObjects(h *hierarchy.Hierarchy) (out []*manifest.Object) {
	for _, m := range h.Metrics {
		out = append(out, m.Object)
	}
	return out
}

func logsObjects(h *hierarchy.Hierarchy) (out []*manifest.Object) {
	for _, l := range h.Logs {
		out = append(out, l.Object)
	}
	return out
}

// reportDependence reports integrations that can stop all others in their pod for a reason outside Git: if one
// fails to start, the agent stops.
func reportDependence(report *reports, pod []running) {
	for _, r := range pod {
		if need := integration.Needs(r.Name); need != "" && len(pod) > 1 {
			report.about(r.object, diag.StopsTheOthers.At("spec.name",
				"%s needs %s when the agent starts: without, none of the %d integrations in its pod runs", r.Name,
				need, len(pod)).WithHint("let another GrafanaAgent select it, to keep the others apart"))
		}
	}
}
