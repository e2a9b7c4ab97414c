package hierarchy

import (
	"slices"
	"strings"

	promv1alpha1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1alpha1"

	"github.com/agentry-dev/agentry/generator/api/v1alpha1"
	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/manifest"
)

// warnSelectedTwice warns about instances that several GrafanaAgents select. Paused GrafanaAgents count: their pods
// run too.
func warnSelectedTwice(all []*Hierarchy) {
	by := map[*manifest.Object][]*Hierarchy{}
	var order []*manifest.Object
	add := func(o *manifest.Object, h *Hierarchy) {
		if len(by[o]) == 1 {
			order = append(order, o)
		}
		by[o] = append(by[o], h)
	}
	for _, h := range all {
		for _, m := range h.Metrics {
			add(m.Object, h)
		}
		for _, l := range h.Logs {
			add(l.Object, h)
		}
	}
	for _, o := range order {
		var agents []*manifest.Object
		var related []diag.Object
		for _, h := range by[o] {
			agents, related = append(agents, h.Agent), append(related, h.Agent.Ref())
		}
		d := o.Place(diag.SelectedTwice.At("metadata",
			"the GrafanaAgents %s select it: each of them collects its targets and writes the same data",
			first(agents)))
		d.Hint = "narrow their selectors, so that one of them selects it"
		d.Related = related
		for _, h := range by[o] {
			h.Diags = append(h.Diags, d)
		}
	}
}

// warnMissingNamespaces reports namespaces that monitors name but no input defines. It reports nothing if the inputs
// have no Namespaces at all, or if a broken document may define one.
func (b *builder) warnMissingNamespaces(h *Hierarchy) {
	if len(b.set.Kind("Namespace")) == 0 || b.set.MayLack("Namespace") {
		return
	}
	spec := h.Spec()
	h.Objects(func(o *manifest.Object) bool {
		if meant := b.meantNamespace(o.Namespace); meant != "" {
			d := o.Place(diag.UnknownNamespace.At("metadata.namespace",
				"no Namespace %q is in the inputs, so nothing is there to collect", o.Namespace))
			d.Hint = "did you mean " + meant + "?"
			h.Diags = append(h.Diags, d)
		}
		ignored := spec.Metrics.IgnoreNamespaceSelectors
		if o.Kind == v1alpha1.PodLogsKind {
			ignored = spec.Logs.IgnoreNamespaceSelectors
		}
		if ignored && o.Kind != promv1alpha1.ScrapeConfigsKind {
			return true
		}
		for _, targets := range o.Targets {
			for _, name := range targets.Names {
				if !b.isNamespace(name) {
					h.Diags = append(h.Diags, b.missingNamespace(o, targets.Path, name))
				}
			}
		}
		return true
	})
}

// isNamespace reports whether a namespace is in the inputs, or in every cluster.
func (b *builder) isNamespace(name string) bool {
	_, found := slices.BinarySearch(b.allNamespaces(), name)
	return found || name == "default" || strings.HasPrefix(name, "kube-") ||
		b.set.IsLeftOut(manifest.ID{Kind: "Namespace", Name: name})
}

// missingNamespace returns a warning if the name looks like a misspelling, otherwise an info: the namespace may be
// defined elsewhere.
func (b *builder) missingNamespace(o *manifest.Object, path, name string) diag.Diagnostic {
	d := o.Place(diag.MissingTargetNamespace.At(path,
		"names the namespace %q, which has no manifest and no object in the inputs", name).As(diag.Info))
	if hint := diag.DidYouMean(name, b.allNamespaces()); hint != "" {
		d.Severity, d.Hint = diag.Warning, hint
	}
	return d
}

// meantNamespace returns the namespace with a manifest that a name most likely misspells, or "".
func (b *builder) meantNamespace(name string) string {
	if meant, known := b.meantNames[name]; known {
		return meant
	}
	meant := ""
	if namespaces := b.set.Kind("Namespace"); slices.Contains(b.unknownNamespaces(), name) &&
		!b.set.MayLack("Namespace") {
		for _, o := range namespaces[:min(len(namespaces), maxCompared)] {
			if IsMisspelt(name, o.Name) {
				meant = o.Name
			}
		}
	}
	b.meantNames[name] = meant
	return meant
}

// IsMisspelt reports whether a name is most likely another one with a letter missing, added, changed or swapped.
func IsMisspelt(name, other string) bool {
	return diag.Distance(name, other) == 1 && !differInShortWord(name, other)
}

// differInShortWord reports whether two names differ only in a short word or a number, which is usually on purpose:
// team-a and team-b, shop1 and shop2.
func differInShortWord(a, b string) bool {
	letters := func(s string) string { return strings.Trim(s, "0123456789") }
	x, y := strings.Split(a, "-"), strings.Split(b, "-")
	if len(x) != len(y) {
		return false
	}
	for i := range x {
		if x[i] != y[i] {
			const short = 2
			return min(len(x[i]), len(y[i])) <= short || letters(x[i]) == letters(y[i])
		}
	}
	return true
}

// noteIdle remembers an instance whose selectors find nothing although they choose everything. A label selector that
// finds nothing has been reported already.
func (q *query) noteIdle(found int, handwritten bool, kinds string) {
	if found == 0 && q.selectors > 0 && len(*q.diags) == 0 && !q.waits && !handwritten {
		q.idle[q.parent] = q.parent.Place(diag.SelectsNothing.At("spec",
			"selects no %s: there is none in the namespaces it looks in, so the instance collects nothing", kinds))
	}
}

// warnIdle warns about instances that collect nothing. Integrations may write through them.
func (b *builder) warnIdle(h *Hierarchy) {
	if len(h.Integrations) > 0 {
		return
	}
	h.Objects(func(o *manifest.Object) bool {
		if d, ok := b.idle[o]; ok {
			h.Diags = append(h.Diags, d)
		}
		return true
	})
}

// rendersNothing returns the warning about a GrafanaAgent without workloads.
func (q *query) rendersNothing(choices []Choice) diag.Diagnostic {
	if slices.ContainsFunc(choices, func(c Choice) bool { return c.Selector != nil }) {
		d := q.parent.Place(diag.RendersNothing.At("spec",
			"selects no MetricsInstance, LogsInstance or integration: there are no workloads"))
		d.Hint = q.misspeltNamespaceHint(choices)
		return d
	}
	lacking := choices[0]
	for _, c := range choices {
		if q.parent.Has(c.Path[:strings.LastIndexByte(c.Path, '.')]) { // the block of the selector
			lacking = c
			break
		}
	}
	d := q.parent.Place(diag.RendersNothing.At(lacking.Path,
		"is not set: nothing is selected, so there are no workloads"))
	d.Hint = "{} selects all in this namespace"
	return d
}

// warnServiceAccount warns if the pods' ServiceAccount is not in the inputs although another ServiceAccount of the
// namespace is.
func (b *builder) warnServiceAccount(h *Hierarchy) {
	name := h.Spec().ServiceAccountName
	if name == "" || name == "default" {
		return
	}
	var others []string
	for id := range b.set.Named() {
		if id.Kind == "ServiceAccount" && id.Namespace == h.Agent.Namespace {
			others = append(others, id.Name)
		}
	}
	if len(others) == 0 || slices.Contains(others, name) || b.set.MayLack("ServiceAccount") {
		return
	}
	slices.Sort(others)
	d := h.Agent.Place(diag.MissingServiceAccount.At("spec.serviceAccountName",
		"no ServiceAccount %q is in the inputs, although the namespace has others: without it no pod starts", name))
	if d.Hint = diag.DidYouMean(name, others); d.Hint == "" {
		d.Hint = "there are " + strings.Join(others[:min(len(others), maxNamed)], ", ")
	}
	h.Diags = append(h.Diags, d)
}
