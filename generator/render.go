package generator

import (
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/agentry-dev/agentry/generator/api/v1alpha1"
	"github.com/agentry-dev/agentry/generator/compile"
	"github.com/agentry-dev/agentry/generator/compile/integration"
	"github.com/agentry-dev/agentry/generator/compile/scrape"
	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/explain"
	"github.com/agentry-dev/agentry/generator/hierarchy"
	"github.com/agentry-dev/agentry/generator/isolate"
	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/generator/mirror"
	"github.com/agentry-dev/agentry/generator/patch"
	"github.com/agentry-dev/agentry/generator/rbac"
	"github.com/agentry-dev/agentry/generator/runtime"
	"github.com/agentry-dev/agentry/generator/secretref"
	"github.com/agentry-dev/agentry/generator/selfmonitoring"
	"github.com/agentry-dev/agentry/generator/tenancy"
	"github.com/agentry-dev/agentry/generator/workload"
	"github.com/agentry-dev/agentry/internal/fault"
)

// Options decide how hierarchies are rendered.
type Options struct {
	// Compatibility is which program's jobs are rendered; default manifest.Operator.
	Compatibility manifest.Compatibility
	// Runtime is what the pods run, one of [Runtimes]; default the first of them.
	Runtime runtime.Runtime
	// Secrets is the policy for secret bytes; default secretref.Reference.
	Secrets secretref.Policy
	// SecretRules give single Secrets another policy; the first that matches wins.
	SecretRules []secretref.Rule
	// Mirror is how Secrets of other namespaces get to the pods under secretref.Reference; nil: not at all.
	Mirror *mirror.Settings
	// SelfMonitoring watches the pods; nil: nothing does.
	SelfMonitoring *selfmonitoring.Settings
	// RenderRights renders ServiceAccounts, Roles and bindings for what the pods discover.
	RenderRights bool
	// Tenancy is what objects of tenants may ask for; see [manifest.Tenants].
	Tenancy tenancy.Rules
	// Encrypted says that the caller encrypts the Secrets that are rendered under secretref.Plaintext. What is not a
	// Secret is not encrypted, so values of Secrets must not be in it.
	Encrypted bool
	// SecretSum returns what pods have for a checksum of the secrets in a configuration, whose Secret it is given.
	// Default: the checksum.
	SecretSum func(config manifest.ID, checksum string) string
	// OperatorLabels are the -labels of the operator that is being replaced.
	OperatorLabels map[string]string
	// RestartOnSecretChange makes pods restart when a secret in their configuration changes:
	// their agents would not notice.
	RestartOnSecretChange bool
	// AgentSelector is the operator's -agent-selector; nil selects every GrafanaAgent.
	AgentSelector labels.Selector
	// SDAggregator is how agents find the targets of MetricsIntegrations; the zero value
	// has its defaults.
	SDAggregator scrape.SDAggregator
	// Changes are the patches and images of the pipeline; nil changes nothing.
	Changes *patch.Changes
	// Integrations is the catalogue of integrations; nil is the agent's own.
	Integrations *integration.Catalogue
	// Admit is asked before anything is rendered whether about so many bytes of memory may be used, and before each
	// unit whether to go on, for no bytes. Its error is [Output.Refused], and nothing more is rendered. Nil: they may.
	Admit func(bytes int64) error
	// LastGood is what units were last rendered from; nil when nothing is known of it.
	LastGood LastGood
}

func (o *Options) policies() secretref.Policies {
	return secretref.Policies{Default: o.Secrets, Rules: o.SecretRules, Mirror: o.Mirror, Encrypted: o.Encrypted}
}

// LastGood knows what units were last rendered from and to. It is only asked about objects that are
// wrong now, so good inputs cost no look at the history. It must be safe for concurrent use, and give
// the same answers throughout a render.
type LastGood interface {
	// Last returns the version of an object from which a unit (namespace/name) was last
	// rendered. had is whether there was one; the object is nil if there was one and its text
	// is lost.
	Last(unit string, id manifest.ID) (o *manifest.Object, had bool)
	// Owns reports whether an object is one of those that a unit was last rendered to.
	Owns(unit string, id manifest.ID) bool
}

// Output is the result of a render.
type Output struct {
	// Units are those of GrafanaAgents, sorted by Name, and then those of what is passed through, sorted by Name.
	Units []*Unit
	// Diags are all findings, the units' included, sorted and without doubles.
	Diags diag.List
	// Refused is the error of [Options.Admit].
	Refused error
	// Hierarchies belong to the units of GrafanaAgents, one each.
	Hierarchies []*hierarchy.Hierarchy

	renderer renderer
	between  diag.List // what was found between units
	// taken maps each input object that a unit also renders to the GrafanaAgent of that unit; it is not passed through.
	taken map[manifest.ID]*manifest.Object
	// misplaced is what was found of references to Secrets that are not where they are needed.
	misplaced diag.List
	// missing are the rights that pods lack.
	missing diag.List
	refused bool // a unit was rendered again, and not compared with the others
}

// Render renders all hierarchies of a set. Units of prev whose inputs are the same
// objects are taken over as they are; prev must come from a render with the same
// options, or be nil.
func Render(set *manifest.Set, opts Options, prev *Output) *Output {
	if opts.Secrets == "" {
		opts.Secrets = secretref.Reference
	}
	if opts.Compatibility == "" {
		opts.Compatibility = manifest.Operator
	}
	if opts.Runtime.Name == "" {
		opts.Runtime = Runtimes()[0]
	}
	known := prev.known(set)
	out := &Output{renderer: renderer{set, opts}, Hierarchies: known.hierarchies}
	if out.Hierarchies == nil {
		out.Hierarchies = hierarchy.Build(set, opts.AgentSelector)
	}
	if opts.Admit != nil {
		if out.Refused = opts.Admit(memoryFor(out.Hierarchies, set)); out.Refused != nil {
			return out
		}
	}
	out.Units = make([]*Unit, len(out.Hierarchies))
	fault.Each(len(out.Units), func(i int) {
		if opts.Admit != nil && opts.Admit(0) != nil {
			return
		}
		h := out.Hierarchies[i]
		if out.Units[i] = known.unit(i, h, set); out.Units[i] == nil {
			out.Units[i] = out.renderer.unit(h)
		}
	})
	if opts.Admit != nil {
		if out.Refused = opts.Admit(0); out.Refused != nil {
			return out
		}
	}
	if !out.sameOwners(prev) {
		out.between = conflicts(out, set, opts.LastGood)
	}
	out.Units = append(out.Units, passer{out.renderer, out.taken}.units(prev)...)
	out.misplaced = misplaced(out)
	out.missing = missingRights(out)
	out.collect()
	return out
}

// Explained returns the output for package explain. It changes nothing in the output, and is not affected by later
// renders or by [Unit.DropBytes].
func (out *Output) Explained() explain.Render {
	rest := out.renderer
	rest.opts.LastGood, rest.opts.Admit = nil, nil // only for the render itself; units say what they used
	r := explain.Render{Set: rest.set, AgentSelector: rest.opts.AgentSelector, Diags: out.Diags}
	for _, u := range out.Units {
		r.Units = append(r.Units, explain.Unit{
			Name: u.Name, Hierarchy: u.Hierarchy, Paused: u.Paused, Failed: u.Failed, Held: u.Held,
			Print: func() explain.Printed { return rest.reprint(u) },
		})
	}
	return r
}

// NoAgent returns a finding if nothing is rendered because the set has no GrafanaAgent, or none that is selected.
func (out *Output) NoAgent(severity diag.Severity, hint string) diag.List {
	set := out.renderer.set
	isAgent := func(o *manifest.Object) bool { return o.Kind == v1alpha1.GrafanaAgentKind }
	all := set.Kind(v1alpha1.GrafanaAgentKind)
	if len(out.Hierarchies) > 0 || len(all) == 0 && slices.ContainsFunc(set.LeftOut(), isAgent) {
		return nil
	}
	if severity == diag.Warning && len(all) == 0 && set.MayLack(v1alpha1.GrafanaAgentKind) {
		return nil // it may be in what cannot be read, which is reported
	}
	d := diag.NoAgent.At("", "there is no GrafanaAgent, so nothing is rendered").As(severity).WithHint(hint)
	if len(all) > 0 {
		d.Message = fmt.Sprintf("no GrafanaAgent of %d has labels %s, so nothing is rendered", len(all),
			out.renderer.opts.AgentSelector)
	}
	return diag.List{d}
}

// Refuse holds the objects that an error blames which the caller found in what is rendered for
// a unit: a field that must not change, say. It returns the unit as it is rendered then, which
// replaces the old one in the output.
func (out *Output) Refuse(unit string, d diag.Diagnostic) *Unit {
	i := slices.IndexFunc(out.Units, func(u *Unit) bool { return u.Name == unit })
	if i < len(out.Hierarchies) {
		out.Units[i] = out.renderer.unit(out.Hierarchies[i], d)
	} else {
		out.Units[i] = passer{out.renderer, out.taken}.unit(unit, out.Units[i].basis.objects, diag.List{d})
	}
	out.refused = true
	out.collect()
	return out.Units[i]
}

// collect gathers what was found.
func (out *Output) collect() {
	list := slices.Concat(out.SpareUnused(out.renderer.set.Diags()), out.between, out.misplaced, out.missing,
		out.unmatched())
	for _, u := range out.Units {
		list = append(list, u.diags...)
	}
	if out.renderer.opts.RenderRights { // the ServiceAccount is rendered
		list = slices.DeleteFunc(list, func(d diag.Diagnostic) bool { return d.Code == diag.MissingServiceAccount })
	}
	out.Diags = merge(list)
}

// renderer renders the units of one set.
type renderer struct {
	set  *manifest.Set
	opts Options
}

// unit renders one hierarchy. What errors are to blame for is held, those given included.
func (r renderer) unit(h *hierarchy.Hierarchy, errors ...diag.Diagnostic) *Unit {
	if h.Spec().Paused {
		return &Unit{Name: h.Name(), Paused: true, Hierarchy: h, basis: newBasis(h, r.set, nil, false)}
	}
	in := isolate.Input[rendered]{Hierarchy: h, Set: r.set, Render: r.attempt}
	if last := r.opts.LastGood; last != nil {
		in.LastGood = func(id manifest.ID) (*manifest.Object, bool) { return last.Last(h.Name(), id) }
	}
	outcome := isolate.Run(in, errors)
	if r.opts.Compatibility == manifest.Current {
		refuseDenied(outcome.Diags)
	}
	u := newUnit(h, outcome)
	u.basis = newBasis(h, r.set, outcome.Dependencies, outcome.UsedLastGood)
	u.basis.hasAccount = hasAccount(r.set, u.account())
	return u
}

// refuseDenied makes errors of monitors that read files although the GrafanaAgent denies it. They are left out already:
// no older version of them may take their place.
func refuseDenied(list diag.List) {
	denied := diag.Diagnostic{Severity: diag.Error, Code: diag.FileAccessDenied}
	for i := range list {
		if list[i].Code == denied.Code {
			list[i].Severity = denied.Severity
		}
	}
}

// rendered is what a hierarchy renders to.
type rendered struct {
	files []File
	jobs  map[manifest.ID]int
	needs []rbac.Need
	// matched are the numbers of the changes that match an object.
	matched map[int]bool
}

// attempt renders a hierarchy without the objects that are left out.
func (r renderer) attempt(h *hierarchy.Hierarchy, set *manifest.Set,
	leftOut map[manifest.ID]bool) isolate.Attempt[rendered] {
	config := r.build(h, set, leftOut)
	config.Diags = append(config.Diags, r.breaches(h, config.Diags, leftOut)...)
	out := isolate.Attempt[rendered]{Diags: config.Diags, Dependencies: config.Secrets.Dependencies()}
	if out.Diags.HasErrors() {
		return out
	}
	objects, matched, diags := r.workloads(h, config)
	if out.Diags = append(out.Diags, diags...); out.Diags.HasErrors() {
		return out
	}
	printed, err := files(objects)
	if err != nil {
		out.Diags = append(out.Diags, h.Agent.Place(diag.InvalidObject.At("", "%s", err)))
		return out
	}
	out.Result = rendered{printed, config.Jobs(), rbac.Needs(config.All()...), matched}
	return out
}

// unmatched warns of patches and images that match nothing in any unit. A unit that stays as it is may have what they
// are for.
func (out *Output) unmatched() diag.List {
	matched := map[int]bool{}
	for _, u := range out.Units {
		if u.Stays() {
			return nil
		}
		maps.Copy(matched, u.matched)
	}
	return out.renderer.opts.Changes.Unmatched(matched)
}

// merge sorts diagnostics, and joins those that several units share.
func merge(list diag.List) diag.List {
	type key struct {
		code          diag.Code
		message, file string
		line, column  int
		object        diag.Object
	}
	at := map[key]int{}
	var out diag.List
	for _, d := range list {
		k := key{d.Code, d.Problem(), d.Source + "\n" + d.File, d.Line, d.Column, d.Object}
		i, ok := at[k]
		if !ok {
			at[k] = len(out)
			d.Units = slices.Clone(d.Units)
			out = append(out, d)
			continue
		}
		out[i].Units = union(out[i].Units, d.Units)
		out[i].Related = union(slices.Clip(out[i].Related), d.Related)
	}
	out.Sort()
	return out
}

// union adds to a list what it lacks of another.
func union[T comparable](list, more []T) []T {
	for _, item := range more {
		if !slices.Contains(list, item) {
			list = append(list, item)
		}
	}
	return list
}

// build builds the configurations of a hierarchy, as the runtime has them.
func (r renderer) build(h *hierarchy.Hierarchy, set *manifest.Set, leftOut map[manifest.ID]bool) *compile.Result {
	config := compile.Hierarchy(h, set, compile.Options{
		Compatibility: r.opts.Compatibility, Secrets: r.opts.policies(), SDAggregator: r.opts.SDAggregator,
		Integrations: r.opts.Integrations, Left: leftOut,
		SubstitutesSecrets: r.opts.Runtime.SubstitutesSecrets, Clusters: r.opts.Runtime.Clusters,
	})
	config.Check(r.opts.Runtime.Check)
	return config
}

// workloads returns the objects of a hierarchy with its configurations, and which of the changes match one of them.
func (r renderer) workloads(h *hierarchy.Hierarchy, config *compile.Result) ([]workload.Object, map[int]bool,
	diag.List) {
	options := workload.Options{
		Runtime: r.opts.Runtime, Labels: r.opts.OperatorLabels, RestartOnSecretChange: r.opts.RestartOnSecretChange,
		Mirror:    r.opts.Mirror,
		SecretSum: r.opts.SecretSum, SelfMonitoring: r.opts.SelfMonitoring,
	}
	if r.opts.RenderRights {
		options.HasAccount = func(id manifest.ID) bool { return hasAccount(r.set, id) }
	}
	matched := map[int]bool{}
	if !r.opts.Changes.IsEmpty() {
		options.Budget = r.opts.Changes.Budget
		options.Change = func(o workload.Resource, check func(workload.Resource) diag.List) (workload.Resource,
			diag.List) {
			changed := r.opts.Changes.Apply(o, check)
			for _, i := range changed.Matched {
				matched[i] = true
			}
			return changed.Value, changed.Diags
		}
	}
	objects, diags := workload.Build(h, config, options)
	return objects, matched, diags
}
