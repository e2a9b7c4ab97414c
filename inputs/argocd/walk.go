package argocd

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/inputs/roots"
	"github.com/agentry-dev/agentry/inputs/tree"
)

const (
	// maxRoots limits the Applications and ApplicationSets that are followed.
	maxRoots = 10_000
	// maxRounds limits how long a chain of Applications that apply each other may be.
	maxRounds = 32
	// maxPasses limits how often the walk is repeated because it found more clusters.
	maxPasses = 5
	// ownNamespace is the namespace of Applications that name none.
	ownNamespace = "argocd"
)

// Walker follows Applications and ApplicationSets, starting at the pipeline's paths.
type Walker struct {
	Repositories roots.Repositories
	// Cluster is the name or address of the cluster whose Applications are built; if empty, all are. Applications for
	// Argo CD's own cluster are always followed, because they can create Applications.
	Cluster string
	// State are objects of the cluster that are never in Git: its Secrets of clusters count as found.
	State []roots.Object
	// Plugins says what is built in place of config management plugins, by their names.
	Plugins map[string]Plugin
}

// Follows reports whether a walk needs objects of a kind.
func Follows(apiVersion, kind string) bool {
	return follows(apiVersion, kind) || apiVersion == APIVersion && kind == clusterKind ||
		apiVersion == "v1" && kind == "Secret"
}

func follows(apiVersion, kind string) bool {
	return apiVersion == APIVersion && (kind == ApplicationKind || kind == ApplicationSetKind)
}

// Walk implements [roots.Walk]. Each Application and ApplicationSet is a root. ApplicationSets depend on the known
// clusters, so the walk is repeated until it finds no more.
func (w Walker) Walk(ctx context.Context, paths []roots.Root, build roots.Builder) ([]roots.Root, error) {
	seen := map[string][]roots.Object{} // by digest of the root
	var clusters []Cluster
	for pass := 0; ; pass++ {
		r := &walk{Walker: w, build: build, seen: seen, clusters: clusters, found: map[string]Cluster{},
			known: map[string]any{}, tenants: map[string]bool{}, chains: map[string]*roots.Chain{},
			endless: map[string]bool{}}
		if err := r.follow(ctx, paths); err != nil {
			return nil, err
		}
		before := clusters
		if clusters = slices.Collect(r.sortedClusters); pass == maxPasses || reflect.DeepEqual(clusters, before) {
			r.requireOneCluster()
			r.noteOthers()
			slices.SortFunc(r.roots, func(a, b roots.Root) int { return cmp.Compare(a.Name, b.Name) })
			return r.roots, nil
		}
	}
}

// walk is one pass of a walk, with the clusters that earlier passes have found.
type walk struct {
	Walker
	build    roots.Builder
	seen     map[string][]roots.Object
	clusters []Cluster
	found    map[string]Cluster // by NAMESPACE/NAME of the Secret
	known    map[string]any     // specs of Applications and ApplicationSets, by kind/namespace/name
	roots    []roots.Root
	chains   map[string]*roots.Chain // by the name of the root
	endless  map[string]bool         // what leads to itself without end, by [roots.Chain.Of]
	tenants  map[string]bool         // names of the roots that tenants ask for
	others   []roots.Root            // of Applications for other clusters
}

func (r *walk) sortedClusters(yield func(Cluster) bool) {
	for _, name := range slices.Sorted(maps.Keys(r.found)) {
		if !yield(r.found[name]) {
			return
		}
	}
}

// follow builds roots, then the roots that they ask for, and so on.
func (r *walk) follow(ctx context.Context, next []roots.Root) error {
	for _, o := range r.State {
		if o.Namespace = cmp.Or(o.Namespace, ownNamespace); IsCluster(o.Value) {
			r.requested(o)
		}
	}
	for round := 0; len(next) > 0; round++ {
		r.roots = append(r.roots, next...)
		var unknown []roots.Root
		for _, root := range next {
			if _, found := r.seen[root.Digest()]; !found {
				unknown = append(unknown, root)
			}
		}
		given, err := r.build(unknown...)
		if err != nil {
			return err
		}
		for i, root := range unknown {
			r.seen[root.Digest()] = given[i]
		}
		var more []roots.Root
		for _, root := range next {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			for _, o := range r.seen[root.Digest()] {
				o.Namespace = cmp.Or(o.Namespace, root.Namespace, ownNamespace)
				asked, isNew := r.requested(o)
				if isNew && r.leadsOn(&asked, r.chains[root.Name]) {
					more = append(more, asked)
				}
			}
		}
		if round == maxRounds || len(r.roots)+len(more) > maxRoots {
			for i := range more {
				more[i].Problem = roots.Endless("Applications")
			}
			r.roots = append(r.roots, more[:min(len(more), 1)]...)
			return nil
		}
		next = more
	}
	return nil
}

// leadsOn reports whether a root that another one asks for is followed. If there is no end to what an Application leads
// to, that is one error.
func (r *walk) leadsOn(root *roots.Root, by *roots.Chain) bool {
	c := &roots.Chain{Of: root.Name, By: by}
	if app, ok := root.Make.(applicationMaker); ok {
		c.Of = app.places()
	}
	r.chains[root.Name] = c
	if !c.IsEndless() {
		return true
	}
	isFirst := !r.endless[c.Of]
	r.endless[c.Of], root.Problem = true, roots.Endless("Applications")
	return isFirst
}

// requested returns the root that an object asks for, and whether it is new to the walk.
func (r *walk) requested(o roots.Object) (root roots.Root, isNew bool) {
	if IsCluster(o.Value) {
		c := ParseCluster(o.Value)
		c.Secret = o.Namespace + "/" + o.Name
		c.File, _, _ = o.Origin.Find(string(o.Text), "")
		r.found[c.Secret] = c
		return roots.Root{}, false
	}
	if !follows(o.APIVersion, o.Kind) {
		return roots.Root{}, false
	}
	by := &roots.CustomResource{Object: o.Object, Built: o.Built}
	root = roots.Root{Name: by.Name(), RequestedBy: by}
	id := o.Kind + "/" + o.Namespace + "/" + o.Name
	switch before, found := r.known[id]; {
	case found && reflect.DeepEqual(before, o.Value["spec"]):
		return root, false
	case found:
		root.Name += " again"
		root.Problem = new(diag.BuildFailed.At("metadata.name", "another one has this name").
			WithHint("remove or rename one of them, or name the path of one cluster"))
		return root, true
	}
	r.known[id] = o.Value["spec"]
	if o.Tenant != "" {
		r.tenants[root.Name] = true
	}
	if o.Kind == ApplicationSetKind {
		root.Make = applicationSetMaker{o.Value, r.clusters, r.Repositories}
		root.Warnings = r.setWarnings(o)
		return root, true
	}
	app, err := ParseApplication(o.Value)
	if err != nil {
		root.Problem, _ = err.(*diag.Diagnostic)
		return root, true
	}
	if app.appliesOutput(r.Repositories) {
		return root, false
	}
	root.Namespace = app.Spec.Destination.Namespace
	root.Make, root.Warnings = applicationMaker{*app, r.Repositories, r.Plugins}, app.warnings(r.Repositories)
	switch {
	case r.isWanted(app.Spec.Destination):
		return root, true
	case r.isCluster(app.Spec.Destination, InClusterName):
		root.Make = FollowedKinds{root}
		return root, true
	}
	root.Problem = new(diag.BuildsNothing.At("spec.destination",
		"no Application is for the cluster %s of cluster.name; this one is for %s", r.Cluster, app.Spec.Destination).
		WithHint("correct cluster.name in the pipeline file, or remove it").
		WithFlags("--set spec.cluster.name=NAME chooses another one"))
	r.others = append(r.others, root)
	return root, false
}

// noteOthers says, at one Application, how many are for other clusters. It is a warning if all are.
func (r *walk) noteOthers() {
	if len(r.others) == 0 {
		return
	}
	first := slices.MinFunc(r.others, func(a, b roots.Root) int { return cmp.Compare(a.Name, b.Name) })
	isBuilt := func(root roots.Root) bool { _, ok := root.Make.(applicationMaker); return ok }
	if slices.ContainsFunc(r.roots, isBuilt) {
		message := fmt.Sprintf("it is for another cluster than %s of cluster.name, so it is not built", r.Cluster)
		if more := len(r.others) - 1; more > 0 {
			message += fmt.Sprintf("; the same goes for %d more", more)
		}
		first.Problem = new(diag.BuildsNothing.At("spec.destination", "%s", message).As(diag.Info).
			WithHint("give each cluster a pipeline of its own"))
	}
	r.roots = append(r.roots, first)
}

// isWanted reports whether Applications for a destination are built.
func (r *walk) isWanted(d Destination) bool { return r.Cluster == "" || r.isCluster(d, r.Cluster) }

// isCluster reports whether a destination is the cluster with a name or address.
func (r *walk) isCluster(d Destination, cluster string) bool {
	names := []string{d.Name, d.Server}
	for _, c := range append(r.clusters, Cluster{Name: InClusterName, Server: InCluster}) {
		if d.Name == c.Name && d.Name != "" || d.Server == c.Server && d.Server != "" {
			names = append(names, c.Name, c.Server)
		}
	}
	return slices.Contains(names, cluster)
}

// requireOneCluster refuses Applications for several clusters, whose objects must not be mixed: the user has to choose
// a cluster. Applications that only create others do not count. If all Applications of the platform are for one
// cluster, only a tenant's Application for another cluster is refused.
func (r *walk) requireOneCluster() {
	var leaves, ofTenants []int
	var clusters []string
	for i, root := range r.roots {
		app, ok := root.Make.(applicationMaker)
		if !ok || slices.ContainsFunc(r.seen[root.Digest()], func(o roots.Object) bool {
			return follows(o.APIVersion, o.Kind)
		}) {
			continue
		}
		if r.tenants[root.Name] {
			ofTenants = append(ofTenants, i)
			continue
		}
		leaves = append(leaves, i)
		clusters = r.addCluster(clusters, app.Spec.Destination)
	}
	platforms := len(clusters)
	for _, i := range ofTenants {
		d := r.roots[i].Make.(applicationMaker).Spec.Destination
		if more := r.addCluster(clusters, d); platforms != 1 {
			clusters, leaves = more, append(leaves, i)
		} else if len(more) > platforms {
			r.roots[i].Problem = new(diag.BuildRefused.At("spec.destination", "%s",
				"is for "+d.String()+", but the platform's Applications are for "+clusters[0]).
				WithHint("correct the destination, or choose a cluster with cluster.name in the pipeline file").
				WithFlags("correct the destination, or choose a cluster with --set spec.cluster.name=NAME"))
		}
	}
	if len(clusters) < 2 {
		return
	}
	slices.Sort(clusters)
	for _, i := range leaves {
		r.roots[i].Problem = new(diag.BuildRefused.At("spec.destination", "%s",
			"there are Applications for several clusters: "+strings.Join(clusters, ", ")).
			WithHint("choose one with cluster.name in the pipeline file").
			WithFlags("--set spec.cluster.name=NAME chooses one"))
	}
}

// addCluster adds the cluster of a destination unless the list has it.
func (r *walk) addCluster(clusters []string, d Destination) []string {
	if slices.ContainsFunc(clusters, func(name string) bool { return r.isCluster(d, name) }) {
		return clusters
	}
	return append(slices.Clip(clusters), d.String())
}

// applicationSetMaker builds the root of an ApplicationSet, whose objects are Applications.
type applicationSetMaker struct {
	Set          map[string]any
	Clusters     []Cluster
	Repositories roots.Repositories
}

var _ roots.Maker = applicationSetMaker{}

// Make implements [roots.Maker].
func (m applicationSetMaker) Make(ctx context.Context, t *tree.Tree, r roots.Root,
	opts roots.Options) ([]manifest.Built, error) {
	g := &Generator{Repositories: m.Repositories, Files: t, Clusters: m.Clusters}
	if opts.Charts != nil {
		g.Execute = opts.Charts.Workers.Execute
	}
	apps, err := g.Applications(ctx, m.Set)
	if err != nil {
		return nil, err
	}
	if len(apps) == 0 {
		return nil, roots.Nothing("spec.generators", "correct them, or remove the ApplicationSet",
			"the generators give no Application")
	}
	out := make([]manifest.Built, len(apps))
	for i, app := range apps {
		text, err := yaml.Marshal(app)
		if err != nil {
			return nil, fmt.Errorf("write an Application: %w", err)
		}
		out[i] = manifest.Built{Text: text, Origin: inResource{r.RequestedBy, "spec.template"},
			Authors: []manifest.Author{}}
	}
	return out, nil
}

// inResource is the origin of an object that a custom resource creates: the resource as a whole, or a field of its
// template.
type inResource struct {
	by       *roots.CustomResource
	template string
}

var _ manifest.Origin = inResource{}

// Find implements [manifest.Origin].
func (o inResource) Find(_, path string) (file string, line, column int) {
	if path == "" || o.template == "" {
		return o.by.Find("")
	}
	return o.by.Find(o.template + "." + path)
}
