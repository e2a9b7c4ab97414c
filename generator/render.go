package generator

import (
	"cmp"
	"slices"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/agentry-dev/agentry/generator/compile"
	"github.com/agentry-dev/agentry/generator/compile/integration"
	"github.com/agentry-dev/agentry/generator/compile/scrape"
	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/difference"
	"github.com/agentry-dev/agentry/generator/explain"
	"github.com/agentry-dev/agentry/generator/hierarchy"
	"github.com/agentry-dev/agentry/generator/ignore"
	"github.com/agentry-dev/agentry/generator/internal/hold"
	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/generator/mirror"
	"github.com/agentry-dev/agentry/generator/patch"
	"github.com/agentry-dev/agentry/generator/rbac"
	"github.com/agentry-dev/agentry/generator/runtimes"
	"github.com/agentry-dev/agentry/generator/secretref"
	"github.com/agentry-dev/agentry/generator/selfmonitoring"
	"github.com/agentry-dev/agentry/generator/tenancy"
	"github.com/agentry-dev/agentry/generator/workload"
	"github.com/agentry-dev/agentry/internal/panics"
)

// Options decide how hierarchies are rendered.
type Options struct {
	// Compatibility names the program whose jobs are rendered; default manifest.Current.
	Compatibility manifest.Compatibility
	// Runtimes decide which program the pods of each GrafanaAgent run. Without a default it is the first of [Runtimes],
	// and without others they are the other ones of these.
	Runtimes runtimes.Choice
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
	// Tenancy limits the settings of tenants' objects; see [manifest.Tenants].
	Tenancy tenancy.Rules
	// Encrypted says that the caller encrypts the Secrets that are rendered under secretref.Plaintext. What is not a
	// Secret is not encrypted, so values of Secrets must not be in it.
	Encrypted bool
	// SecretSum returns the text that the pods' annotation has instead of a checksum of the secrets in a configuration.
	// config is the Secret of the configuration. Default: the checksum.
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
	// Ignore says which objects are meant for no GrafanaAgent of the set.
	Ignore ignore.Rules
	// Admit is asked before each unit is rendered whether about so many bytes of memory may be used, and after each
	// unit that is stored for what it takes. Its error is [Output.Refused], and nothing more is rendered. Nil: they
	// may.
	Admit func(bytes int64) error
	// KeepBytes is how many bytes of files keep the values that they were printed from, which are several times as
	// large. [Output.Version] makes those of other files again. Zero means no limit. Store, unless it is nil, returns
	// the bytes of these other files in a form that takes less memory.
	KeepBytes int64
	Store     func(data []byte) Stored
	// IsNew reports whether a unit is new to those who apply the output. New units have [Unit.Beginning], and their
	// files keep no values. Nil: no unit is.
	IsNew func(unit string) bool
	// LastGood knows what units were last rendered from and to; nil if nothing is known of that.
	LastGood LastGood
	// Current has the units of an earlier render that are known to be what LastGood has. They are not compared with it
	// again.
	Current map[*Unit]bool
}

// withDefaults returns the options with the defaults of what they leave open.
func (o Options) withDefaults() Options {
	o.Secrets = cmp.Or(o.Secrets, secretref.Reference)
	o.Compatibility = cmp.Or(o.Compatibility, manifest.Current)
	if o.Runtimes.Default.Name == "" {
		o.Runtimes.Default = Runtimes()[0]
	}
	if o.Runtimes.Others == nil {
		o.Runtimes.Others = choice(o.Runtimes.Default.Name, Runtimes()).Others
	}
	return o
}

// admit returns the error of [Options.Admit].
func (o *Options) admit(bytes int64) error {
	if o.Admit == nil {
		return nil
	}
	return o.Admit(bytes)
}

func (o *Options) policies() secretref.Policies {
	return secretref.Policies{Default: o.Secrets, Rules: o.SecretRules, Mirror: o.Mirror, Encrypted: o.Encrypted}
}

// LastGood knows what units were last rendered from and to. It is only asked about workloads and about objects that are
// wrong now, so good inputs cost no look at the history. It must be safe for concurrent use, and give the same answers
// throughout a render.
type LastGood interface {
	// Last returns the version of an object from which a unit (namespace/name) was last
	// rendered. had is whether there was one; the object is nil if there was one and its text
	// is lost.
	Last(unit string, id manifest.ID) (o *manifest.Object, had bool)
	// Owns reports whether a unit was last rendered to an object, among others.
	Owns(unit string, id manifest.ID) bool
	// Written returns the manifest of a workload as a unit was last rendered to it, by the path of its file; nil if
	// there was none.
	Written(unit, path string) []byte
}

// Output is the result of a render. Nothing changes it, or its units, after [Render] returned it.
type Output struct {
	// Units are the units of GrafanaAgents, sorted by Name, and then the units of objects that are passed through,
	// sorted by Name.
	Units []*Unit
	// Diags are all findings, the units' included, sorted and without doubles.
	Diags diag.List
	// Refused is the error of [Options.Admit]. The output is incomplete then.
	Refused error
	// Hierarchies belong to the units of GrafanaAgents, one each.
	Hierarchies []*hierarchy.Hierarchy
	// Rendered is how many objects the units have that were not taken over.
	Rendered int

	renderer renderer
	// alone are the units of GrafanaAgents as each is rendered for itself, whatever conflicts there are.
	alone []*Unit
	// unselected are the findings about what no GrafanaAgent selects.
	unselected unselected
}

// Render renders all hierarchies of a set. It takes over the units of an earlier render whose inputs are the same
// objects: prev must come from a render with the same options, or be nil. The output does not depend on prev, except
// that [Output.WithoutBytes] may have dropped the bytes of units in [Options.Current].
func Render(set *manifest.Set, opts Options, prev *Output) *Output {
	opts = opts.withDefaults()
	r, known := renderer{set, opts}, prev.known(set)
	out := &Output{renderer: r.withoutHistory(), Hierarchies: known.hierarchies}
	if out.Hierarchies == nil {
		out.Hierarchies = hierarchy.Build(set, opts.AgentSelector)
	}
	out.alone = make([]*Unit, len(out.Hierarchies))
	panics.Each(len(out.alone), func(i int) {
		if u := known.unit(i, out.Hierarchies[i], set); u != nil && r.mayTakeOver(u) {
			out.alone[i] = u
		}
	})
	memory := estimate{renderer: r}
	var kept atomic.Int64
	var refused atomic.Pointer[error]
	var fresh atomic.Int64
	panics.Each(len(out.alone), func(i int) {
		if out.alone[i] != nil || refused.Load() != nil {
			return
		}
		if err := memory.admit(out.Hierarchies[i]); err != nil {
			refused.Store(&err)
			return
		}
		u := r.unit(out.Hierarchies[i])
		fresh.Add(int64(len(u.basis.objects)))
		isNew := opts.IsNew != nil && opts.IsNew(u.Name)
		if isNew {
			u.Beginning = difference.Brief(difference.Match(nil, u.manifests()))
		}
		if isNew || kept.Add(u.bytes()) > opts.KeepBytes && opts.KeepBytes > 0 {
			u = u.lean().stored(opts.Store)
			if err := opts.admit(bytesPerLean + u.bytes()); err != nil {
				refused.Store(&err)
			}
		}
		out.alone[i] = u
	})
	out.Rendered = int(fresh.Load())
	if out.Refused = opts.admit(0); out.Refused == nil && refused.Load() != nil {
		out.Refused = *refused.Load()
	}
	if out.Refused != nil {
		out.Units = out.alone
		return out
	}
	conflicts := findConflicts(out.alone, set, opts.LastGood)
	passed := passThrough{r, conflicts.yielded}.units(known.passed)
	out.Units = append(conflicts.resolve(out.alone), passed...)
	out.unselected = r.unselected(known.unselected, out.Hierarchies, out.alone)
	out.Diags = r.diagnostics(out.Units, append(conflicts.diags, out.unselected.diags...))
	return out
}

// renderer renders the units of one set.
type renderer struct {
	set  *manifest.Set
	opts Options
}

// withoutHistory returns a renderer for units that are rendered once more, which say what they used of the history.
func (r renderer) withoutHistory() renderer {
	r.opts.LastGood, r.opts.Current, r.opts.Admit = nil, nil, nil
	return r
}

// unit renders one hierarchy, and holds the objects that cause errors.
func (r renderer) unit(h *hierarchy.Hierarchy) *Unit {
	if h.Spec().Paused {
		return &Unit{Name: h.Name(), Paused: true, Hierarchy: h, Runtime: r.runtime(h).Name,
			basis: newBasis(h, r.set, nil, false)}
	}
	in := hold.Input[rendered]{Hierarchy: h, Set: r.set, Render: r.attempt}
	if last := r.opts.LastGood; last != nil {
		in.LastGood = func(id manifest.ID) (*manifest.Object, bool) { return last.Last(h.Name(), id) }
	}
	outcome := hold.Run(in)
	if r.opts.Compatibility == manifest.Current {
		refuseDenied(outcome.Diags)
	}
	u := newUnit(h, outcome)
	u.Runtime = r.runtime(u.Hierarchy).Name
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

// rendered is the output of a hierarchy.
type rendered struct {
	files []File
	jobs  map[manifest.ID]int
	needs []rbac.Need
	names *explain.Names
	// matched are the numbers of the changes that match an object.
	matched map[int]bool
}

// attempt renders a hierarchy without the objects that are left out.
func (r renderer) attempt(h *hierarchy.Hierarchy, set *manifest.Set,
	leftOut map[manifest.ID]bool) hold.Attempt[rendered] {
	choices := r.choices(h)
	if choices.HasErrors() { // another program has other errors
		return hold.Attempt[rendered]{Diags: choices}
	}
	config := r.build(h, set, leftOut)
	config.Diags = slices.Concat(config.Diags, choices, r.breaches(h, config.Diags, leftOut))
	out := hold.Attempt[rendered]{Diags: config.Diags, Dependencies: config.Secrets.Dependencies()}
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
	for i := range printed {
		if field := r.immutableField(h.Name(), &printed[i]); field != "" {
			out.Diags = append(out.Diags, immutableError(h.Agent, printed[i].Object, field))
			return out
		}
	}
	out.Result = rendered{printed, config.Jobs(), rbac.Needs(config.All()...),
		namesOf(h.Name(), config.All(), printed), matched}
	return out
}

// build builds the configurations of a hierarchy, as its program has them.
func (r renderer) build(h *hierarchy.Hierarchy, set *manifest.Set, leftOut map[manifest.ID]bool) *compile.Result {
	program := r.runtime(h)
	config := compile.Hierarchy(h, set, compile.Options{
		Compatibility: r.opts.Compatibility, Secrets: r.opts.policies(), SDAggregator: r.opts.SDAggregator,
		Integrations: r.opts.Integrations, Left: leftOut,
		SubstitutesSecrets: program.SubstitutesSecrets, Clusters: program.Clusters,
	})
	config.Check(program.Check)
	return config
}

// workloads returns the objects of a hierarchy with its configurations, and which of the changes match one of them.
func (r renderer) workloads(h *hierarchy.Hierarchy, config *compile.Result) ([]workload.Object, map[int]bool,
	diag.List) {
	options := workload.Options{
		Runtime: r.runtime(h), Labels: r.opts.OperatorLabels,
		RestartOnSecretChange: r.opts.RestartOnSecretChange, Mirror: r.opts.Mirror,
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
