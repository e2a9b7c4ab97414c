package flux

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/inputs/roots"
)

const (
	// maxResources limits the Kustomizations and HelmReleases that are followed.
	maxResources = 10_000
	// maxRounds limits how long a chain of Kustomizations and HelmReleases that apply each other may be.
	maxRounds = 64
)

// Walker follows Kustomizations, starting at the pipeline's paths.
type Walker struct {
	Repositories roots.Repositories
	// Decrypt decrypts ConfigMaps and Secrets with variables and values. If nil, none is decrypted.
	Decrypt Decrypt
	// State are ConfigMaps and Secrets of the cluster that are never in Git. Objects that the walk finds replace them.
	State []roots.Object
}

var _ roots.Walk = Walker{}.Walk

// Follows reports whether a walk needs objects of a kind.
func Follows(apiVersion, kind string) bool {
	group, _, _ := strings.Cut(apiVersion, "/")
	return group == kustomizationGroup && kind == "Kustomization" || strings.HasSuffix(group, ".toolkit.fluxcd.io") ||
		apiVersion == "v1" && (kind == "ConfigMap" || kind == "Secret")
}

// Walk implements [roots.Walk]. Each Kustomization is built once. A Kustomization that builds one of the paths, such
// as the one that flux bootstrap makes, replaces the path.
func (w Walker) Walk(ctx context.Context, paths []roots.Root, build roots.Builder) ([]roots.Root, error) {
	given, err := build(paths...)
	if err != nil {
		return nil, err
	}
	run := &run{Walker: w, reader: reader{decrypt: w.Decrypt}, objects: map[string]map[string]any{},
		unknown: map[string]*diag.Diagnostic{}, secret: map[string]map[string]string{},
		known: map[string]*kustomization{}, releases: map[string]foundRelease{}, rendered: map[string]bool{},
		endless: map[string]bool{}, warned: map[string]bool{}, state: map[string]map[string]any{}}
	for _, o := range w.State {
		run.state[o.Kind+"/"+orDefault(o.Namespace)+"/"+o.Name] = o.Value
	}
	for i, path := range paths {
		if !run.replace(ctx, path, given[i]) {
			run.roots = append(run.roots, path)
			run.add(ctx, given[i], nil)
		}
	}
	for round := 0; err == nil && len(run.waiting)+len(run.releases) > 0; round++ {
		switch {
		case round == maxRounds || len(run.known)+len(run.rendered) > maxResources:
			run.refuseRest(ctx)
		case len(run.waiting) > 0: // before charts, which may need what Kustomizations give
			err = run.followKustomizations(ctx, build)
		default:
			err = run.followReleases(ctx, build)
		}
	}
	if err != nil {
		return nil, err
	}
	slices.SortFunc(run.roots, func(a, b roots.Root) int { return strings.Compare(a.Name, b.Name) })
	return run.roots, run.err
}

// run is one walk.
type run struct {
	Walker
	reader
	roots    []roots.Root
	objects  map[string]map[string]any    // by kind/namespace/name
	unknown  map[string]*diag.Diagnostic  // about objects that an unknown variable reaches, by kind/namespace/name
	secret   map[string]map[string]string // values of Secrets that were put into objects, by kind/namespace/name
	state    map[string]map[string]any    // of the cluster, by kind/namespace/name
	known    map[string]*kustomization    // by namespace/name
	waiting  []*kustomization
	releases map[string]foundRelease // to render, by namespace/name
	rendered map[string]bool         // HelmReleases, by namespace/name
	endless  map[string]bool         // what leads to itself without end, by [roots.Chain.Of]
	warned   map[string]bool         // sources whose revision was checked, and messages that were given
}

// foundRelease is a HelmRelease found by a walk.
type foundRelease struct {
	roots.Object
	chain *roots.Chain
}

// followKustomizations builds the Kustomizations that can be built now.
func (r *run) followKustomizations(ctx context.Context, build roots.Builder) error {
	wanted := r.next()
	next := r.rootsOf(ctx, wanted)
	given, err := build(next...)
	if err == nil {
		err = r.again(ctx, wanted, next, given, build)
	}
	r.roots = append(r.roots, next...)
	for i, objects := range given {
		r.add(ctx, objects, wanted[i].chain)
	}
	return err
}

// followReleases renders the HelmReleases that were found. Of what their charts give, only custom resources of Flux are
// followed: the ConfigMaps and Secrets of a chart may hold what its values take from Secrets.
func (r *run) followReleases(ctx context.Context, build roots.Builder) error {
	var next []roots.Root
	var chains []*roots.Chain
	for _, id := range slices.Sorted(maps.Keys(r.releases)) {
		next, chains = append(next, r.release(ctx, r.releases[id].Object)), append(chains, r.releases[id].chain)
		r.rendered[id] = true
	}
	clear(r.releases)
	given, err := build(next...)
	r.roots = append(r.roots, next...)
	for i, objects := range given {
		r.add(ctx, slices.DeleteFunc(slices.Clone(objects), func(o roots.Object) bool { return o.APIVersion == "v1" }),
			chains[i])
	}
	return err
}

// refuseRest refuses what is left to follow.
func (r *run) refuseRest(ctx context.Context) {
	for _, k := range r.waiting {
		r.roots = append(r.roots, refused(k.emptyRoot(), roots.Endless("Kustomizations")))
	}
	for _, o := range r.releases {
		r.roots = append(r.roots, refused(r.release(ctx, o.Object), roots.Endless("HelmReleases")))
	}
	r.waiting, r.releases = nil, nil
}

// leadsOn reports whether what a chain ends with can be built. If the chain has no end, that is one error for each
// folder or chart.
func (r *run) leadsOn(c *roots.Chain, root func() roots.Root, kinds string) bool {
	if !c.IsEndless() {
		return true
	}
	if !r.endless[c.Of] {
		r.endless[c.Of] = true
		r.roots = append(r.roots, refused(root(), roots.Endless(kinds)))
	}
	return false
}

// object returns an object found so far, or else of the cluster's state, or nil.
func (r *run) object(kind, namespace, name string) map[string]any {
	id := kind + "/" + namespace + "/" + name
	if found := r.objects[id]; found != nil {
		return found
	}
	return r.state[id]
}

// inInputs returns an object that the walk found, or nil.
func (r *run) inInputs(kind, namespace, name string) map[string]any {
	return r.objects[kind+"/"+namespace+"/"+name]
}

// replace reports whether Kustomizations in a path build the path itself. If so, only they are followed.
func (r *run) replace(ctx context.Context, path roots.Root, objects []roots.Object) bool {
	own := &run{Walker: r.Walker, objects: map[string]map[string]any{}, unknown: r.unknown,
		secret: r.secret, known: map[string]*kustomization{}, releases: map[string]foundRelease{}}
	// A tenant must not replace the path of all.
	own.add(ctx, slices.DeleteFunc(slices.Clone(objects), func(o roots.Object) bool { return o.Tenant != "" }), nil)
	replaced := false
	for _, k := range own.waiting {
		if top, err := own.repository(k); err == nil && k.root(top, nil).Folder == path.Folder &&
			path.Generate.File == "" {
			k.name = path.Name
			if replaced {
				k.name = ""
			}
			replaced = true
			r.addKustomization(k)
		}
	}
	for key, object := range own.objects {
		if replaced {
			r.objects[key] = object // the Kustomization may refer to it
		}
	}
	return replaced
}

// add records the objects of a root, which by asks for, if anything does.
func (r *run) add(ctx context.Context, objects []roots.Object, by *roots.Chain) {
	for _, o := range objects {
		o.Namespace = orDefault(o.Namespace)
		id := o.Kind + "/" + o.Namespace + "/" + o.Name
		r.objects[id], r.unknown[id], r.secret[id] = o.Value, o.UnknownVariable("", o.Value), o.Secret
		if group, _, _ := strings.Cut(o.APIVersion, "/"); group == helmReleaseGroup && o.Kind == "HelmRelease" &&
			!r.rendered[o.Namespace+"/"+o.Name] {
			release := foundRelease{o, &roots.Chain{Of: chartOf(o), By: by}}
			if r.leadsOn(release.chain, func() roots.Root { return r.release(ctx, o) }, "HelmReleases") {
				r.releases[o.Namespace+"/"+o.Name] = release
			}
		}
		if o.Kind != "Kustomization" {
			continue
		}
		k, err := parseKustomization(o)
		if p, ok := errors.AsType[*diag.Diagnostic](err); ok {
			r.roots = append(r.roots, refused(k.emptyRoot(), p))
			continue
		}
		if why := skipped(k.spec.Suspend, k.spec.KubeConfig, "built"); why != nil {
			r.skip(k, why)
			continue
		}
		k.chain = &roots.Chain{Of: fmt.Sprint(k.source(), path.Join("/", k.spec.Path)), By: by}
		if r.leadsOn(k.chain, k.emptyRoot, "Kustomizations") {
			r.addKustomization(k)
		}
	}
}

// chartOf returns what tells the chart of a HelmRelease from others.
func chartOf(o roots.Object) string {
	spec, _ := o.Value["spec"].(map[string]any)
	return fmt.Sprint(o.Namespace, spec["chart"], spec["chartRef"])
}

// addKustomization records a Kustomization. If it is defined again, both definitions must be equal.
func (r *run) addKustomization(k *kustomization) {
	id := k.Namespace + "/" + k.Name
	first := r.known[id]
	if first == nil {
		r.known[id] = k
		r.waiting = append(r.waiting, k)
		return
	}
	if string(first.Text) != string(k.Text) {
		again := k.emptyRoot()
		again.Name = again.RequestedBy.Name() + " again"
		file, line, _ := first.Origin.Find(string(first.Text), "")
		r.roots = append(r.roots, refused(again,
			new(diag.BuildRefused.At("", "is defined twice: the other one is at %s:%d", file, line).
				WithHint("remove one of them; if they are for different clusters, give the path of one cluster").
				Naming(file))))
	}
}

// next removes and returns the waiting Kustomizations that can be built now: those that miss no object, else those
// that miss only optional objects, else all.
func (r *run) next() []*kustomization {
	r.waiting = slices.DeleteFunc(r.waiting, r.appliesOutput)
	slices.SortFunc(r.waiting, func(a, b *kustomization) int {
		return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
	})
	var now, later []*kustomization
	for _, waits := range []func(*kustomization) bool{
		func(k *kustomization) bool { return k.waitsFor(r.inInputs, true) },
		func(k *kustomization) bool { return k.waitsFor(r.inInputs, false) },
		func(*kustomization) bool { return false },
	} {
		now, later = nil, nil
		for _, k := range r.waiting {
			if waits(k) {
				later = append(later, k)
			} else {
				now = append(now, k)
			}
		}
		if len(now) > 0 {
			break
		}
	}
	r.waiting = later
	return now
}

func (r *run) rootsOf(ctx context.Context, list []*kustomization) []roots.Root {
	out := make([]roots.Root, len(list))
	for i, k := range list {
		out[i] = r.root(ctx, k)
	}
	return out
}

// again builds those of the Kustomizations again that missed an object which one of them yields, such as the
// ConfigMap that a Kustomization itself applies: in a cluster it is there from the second time on. It changes next and
// given, the roots and their objects.
func (r *run) again(ctx context.Context, list []*kustomization, next []roots.Root, given [][]roots.Object,
	build roots.Builder) error {
	yielded := map[string]roots.Object{}
	for _, objects := range given {
		for _, o := range objects {
			if o.Kind == "ConfigMap" || o.Kind == "Secret" {
				yielded[o.Kind+"/"+orDefault(o.Namespace)+"/"+o.Name] = o
			}
		}
	}
	var at []int
	var wanted []roots.Root
	for i, k := range list {
		isNew := false
		for _, id := range k.missing(r.inInputs) {
			if object, found := yielded[id]; found {
				r.objects[id], r.secret[id], isNew = object.Value, object.Secret, true
			}
		}
		if isNew {
			at = append(at, i)
		}
	}
	if len(at) == 0 {
		return nil
	}
	for _, i := range at { // when all objects are known
		isMissing := func(d diag.Diagnostic) bool { return d.Code == diag.FluxVariable }
		for _, d := range next[i].Warnings {
			if isMissing(d) {
				delete(r.warned, d.Message) // it is given again if it is still true
			}
		}
		before := slices.DeleteFunc(slices.Clone(next[i].Warnings), isMissing)
		next[i] = r.root(ctx, list[i])
		next[i].Warnings = append(before, next[i].Warnings...)
		wanted = append(wanted, next[i])
	}
	built, err := build(wanted...)
	if err != nil {
		return err
	}
	for j, i := range at {
		given[i] = built[j]
	}
	return nil
}

// root returns the root that a Kustomization builds, or a refused one.
func (r *run) root(ctx context.Context, k *kustomization) roots.Root {
	source := k.source()
	secret := r.secret[source.Kind+"/"+source.Namespace+"/"+source.Name]
	top, err := r.repository(k)
	if err == nil {
		err = k.checkDecryption()
	}
	if err == nil {
		variables, problems, failed := k.variables(ctx, r.object, r.secret, &r.reader)
		if err = failed; err == nil {
			root := k.root(top, variables)
			root.PostBuild = k.postBuild(r.object)
			root.AddSecret(secret)
			root.Warnings = append(r.warnings(source, "spec.sourceRef", top), r.once(problems)...)
			return root
		}
	}
	p, ok := errors.AsType[*diag.Diagnostic](err)
	if !ok {
		p = new(diag.BuildRefused.At("", "cannot be built"))
	}
	root := k.emptyRoot()
	root.AddSecret(secret)
	return refused(root, p)
}

// appliesOutput reports whether a Kustomization applies what agentry writes.
func (r *run) appliesOutput(k *kustomization) bool {
	ref := k.source()
	source := r.object(ref.Kind, ref.Namespace, ref.Name)
	return ref.Kind == "GitRepository" && r.Repositories.IsOutput(text(source, "spec.url"), revision(source))
}

// revision returns the ref of a GitRepository.
func revision(source map[string]any) string {
	spec, _ := source["spec"].(map[string]any)
	wanted, _ := spec["ref"].(map[string]any)
	for _, one := range []string{"commit", "name", "semver", "tag", "branch"} { // Flux's order of precedence
		if name, _ := wanted[one].(string); name != "" {
			return name
		}
	}
	return ""
}

// warnings returns a warning if a source wants another revision of the repository mounted at top than the pipeline
// reads. Each source is checked once, at the first field that names it.
func (r *run) warnings(source ObjectRef, field, top string) diag.List {
	id := source.Kind + "/" + source.Namespace + "/" + source.Name
	if source.Kind != "GitRepository" || r.warned[id] {
		return nil
	}
	r.warned[id] = true
	return r.Repositories.Warn(top, field, revision(r.objects[id]))
}

// once returns the problems that were not reported before: one Secret is reported once, whatever fields name it.
func (r *run) once(problems []*diag.Diagnostic) (out diag.List) {
	for _, p := range problems {
		if !r.warned[p.Message] {
			r.warned[p.Message] = true
			out.Add(*p)
		}
	}
	return out
}

// repository returns the folder in which the source of a Kustomization is mounted.
func (r *run) repository(k *kustomization) (string, error) {
	ref := k.source()
	return r.find(ref.Kind, ref.Namespace, ref.Name, "spec.sourceRef")
}

// find returns the folder in which a Flux source is mounted.
func (r *run) find(kind, namespace, name, field string) (string, error) {
	id := kind + "/" + namespace + "/" + name
	url := text(r.object(kind, namespace, name), "spec.url")
	if folder, found := r.Repositories.Find(id, url); found {
		return folder, nil
	}
	if namespace == bootstrapName && name == bootstrapName {
		return ".", nil
	}
	unknown := r.Repositories.Unknown(field, id, url)
	if kind == "ExternalArtifact" {
		unknown.Flags = "name the folder with the files of the artifact: " + unknown.Flags
	}
	return "", unknown
}

// bootstrapName is both name and namespace of the source that flux bootstrap and the Flux Operator make for the
// repository with the cluster's path.
const bootstrapName = "flux-system"

// orDefault returns the namespace of an object that may omit it.
func orDefault(namespace string) string { return cmp.Or(namespace, "default") }

func index(i int) string { return "[" + strconv.Itoa(i) + "]" }

// skipped returns why Flux does not apply a Kustomization or HelmRelease to this cluster, although nothing is wrong, or
// nil. done says what is not done with it.
func skipped(suspend bool, kubeConfig json.RawMessage, done string) *diag.Diagnostic {
	switch {
	case suspend:
		return new(diag.BuildsNothing.At("spec.suspend", "Flux does not reconcile it, so it is not %s", done).
			As(diag.Info).WithHint("set suspend: false to have it " + done))
	case len(kubeConfig) > 0:
		return new(diag.BuildsNothing.At("spec.kubeConfig", "it is for another cluster, so it is not %s", done).
			As(diag.Info).WithHint("give that cluster a pipeline of its own"))
	}
	return nil
}

// skip notes once why a Kustomization is not built.
func (r *run) skip(k *kustomization, why *diag.Diagnostic) {
	root := refused(k.emptyRoot(), why)
	if !slices.ContainsFunc(r.roots, func(other roots.Root) bool { return other.Name == root.Name }) {
		r.roots = append(r.roots, root)
	}
}
