package generator

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/agentry-dev/agentry/generator/build"
	"github.com/agentry-dev/agentry/generator/build/integration"
	"github.com/agentry-dev/agentry/generator/build/scrape"
	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/hierarchy"
	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/generator/secretref"
	"github.com/agentry-dev/agentry/generator/workload"
)

// Options decide how hierarchies are rendered.
type Options struct {
	// Secrets is the policy for secret bytes; default secretref.Reference.
	Secrets secretref.Policy
	// OperatorLabels are the -labels of the operator that is being replaced.
	OperatorLabels map[string]string
	// RestartOnSecretChange makes pods restart when a secret changes that stands in their
	// configuration: their agents would not notice.
	RestartOnSecretChange bool
	// Review gives the Secrets of agents' configurations a text without secrets: [File.Redacted].
	Review bool
	// AgentSelector is its -agent-selector; nil selects every GrafanaAgent.
	AgentSelector labels.Selector
	// SDAggregator is how agents find the targets of MetricsIntegrations; the zero value
	// has its defaults.
	SDAggregator scrape.SDAggregator
	// Integrations is the catalogue of integrations; nil is the agent's own.
	Integrations *integration.Catalogue
	// LastGood is what units were last rendered from; nil when nothing is known of it.
	LastGood LastGood
}

// Output is the result of a render.
type Output struct {
	// Units are sorted by Name.
	Units []*Unit
	// Diags are all findings, the units' included, sorted and without doubles.
	Diags diag.List
	// Hierarchies belong to Units, one each.
	Hierarchies []*hierarchy.Hierarchy

	renderer *renderer
	between  diag.List // what was found between units
	refused  bool      // a unit was rendered again, and not compared with the others
}

// Render renders all hierarchies of a set. Units of prev whose inputs are the same
// objects are taken over as they are; prev must come from a render with the same
// options, or be nil.
func Render(set *manifest.Set, opts Options, prev *Output) *Output {
	if opts.Secrets == "" {
		opts.Secrets = secretref.Reference
	}
	out := &Output{}
	known := prev.known(set)
	out.Hierarchies = known.hierarchies
	if out.Hierarchies == nil {
		out.Hierarchies = hierarchy.Build(set, opts.AgentSelector)
	}
	out.Units = make([]*Unit, len(out.Hierarchies))
	r := &renderer{set: set, opts: opts}
	parallel(len(out.Units), func(i int) {
		h := out.Hierarchies[i]
		if u := known.unit(i, h, set); u != nil {
			out.Units[i] = u
			return
		}
		out.Units[i] = r.unit(h)
	})
	out.renderer = r
	if !out.sameOwners(prev) {
		out.between = conflicts(out, set, opts.LastGood)
	}
	out.collect()
	return out
}

// sameOwners reports whether there is no conflict between units because there was none in
// prev: no object is rendered or in the inputs that was not then.
func (out *Output) sameOwners(prev *Output) bool {
	if prev == nil || prev.refused || len(prev.between) > 0 || len(prev.Units) != len(out.Units) || !out.renderer.set.SameNames(prev.renderer.set) {
		return false
	}
	for i, u := range out.Units {
		if u != prev.Units[i] && (u.Name != prev.Units[i].Name || !u.ownsOnly(prev.Units[i])) {
			return false
		}
	}
	return true
}

// collect gathers what was found.
func (out *Output) collect() {
	list := append(slices.Clone(out.renderer.set.Diags()), out.between...)
	for _, u := range out.Units {
		list = append(list, u.diags...)
	}
	out.Diags = merge(list)
}

// parallel calls f for 0 to n-1 on all processors.
func parallel(n int, f func(int)) {
	workers := min(runtime.GOMAXPROCS(0), n)
	if workers <= 1 {
		for i := range n {
			f(i)
		}
		return
	}
	next := make(chan int, n)
	for i := range n {
		next <- i
	}
	close(next)
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for i := range next {
				f(i)
			}
		})
	}
	wg.Wait()
}

type renderer struct {
	set  *manifest.Set
	opts Options
}

// unit renders one hierarchy. What errors are to blame for is held, those given included.
func (r *renderer) unit(h *hierarchy.Hierarchy, errors ...diag.Diagnostic) *Unit {
	u := &Unit{Name: h.Name(), Paused: h.Spec().Paused, Hierarchy: h, hierarchyDiags: diagText(h.Diags)}
	u.remember(h)
	if u.Paused {
		return u
	}
	newHolding(r, u, h).run(errors)
	u.waits = map[manifest.ID]bool{}
	for id := range u.looked {
		if r.set.IsLeftOut(id) {
			u.waits[id] = true
		}
	}
	u.finish()
	return u
}

// rendering is one attempt to render a unit.
type rendering struct {
	objects []workload.Object
	looked  map[manifest.ID]*manifest.Object // nil for what is not in the set
	diags   diag.List
}

// render makes an attempt. What is left out is in the hierarchy still, so that nobody takes
// it for missing.
func (r *renderer) render(h *hierarchy.Hierarchy, set *manifest.Set, left map[manifest.ID]bool) rendering {
	config := build.Build(h, set, build.Options{
		Policy: r.opts.Secrets, SDAggregator: r.opts.SDAggregator, Integrations: r.opts.Integrations, Left: left,
	})
	out := rendering{diags: config.Diags, looked: config.Secrets.Dependencies()}
	if out.diags.HasErrors() {
		return out
	}
	objects, diags := workload.Build(h, config, workload.Options{
		Labels: r.opts.OperatorLabels, Policy: r.opts.Secrets, RestartOnSecretChange: r.opts.RestartOnSecretChange, Review: r.opts.Review,
	})
	out.objects, out.diags = objects, append(out.diags, diags...)
	return out
}

// files lays out the objects of a unit.
func files(objects []workload.Object) []File {
	var out []File
	for _, o := range objects {
		name := o.ID.Name + "." + strings.ToLower(o.ID.Kind) + ".yaml"
		out = append(out, File{Path: name, Data: o.YAML, Object: o.ID, Manifest: true, Masked: o.Masked, Redacted: o.Redacted})
		if o.Review != nil {
			out = append(out, File{Path: o.ID.Name + ".agent.yml.txt", Data: o.Review, Object: o.ID})
		}
	}
	return out
}

// Kustomization returns a kustomization.yaml that lists the resources, sorted.
func Kustomization(resources []string) []byte {
	var b strings.Builder
	b.WriteString("apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\n")
	if len(resources) == 0 {
		b.WriteString("resources: []\n")
		return []byte(b.String())
	}
	b.WriteString("resources:\n")
	for _, r := range slices.Sorted(slices.Values(resources)) {
		fmt.Fprintf(&b, "  - %s\n", r)
	}
	return []byte(b.String())
}

// KustomizationFile is the name of the file that kustomize looks for.
const KustomizationFile = "kustomization.yaml"
