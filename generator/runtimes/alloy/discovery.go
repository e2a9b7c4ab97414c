package alloy

import (
	"slices"
	"strconv"
	"strings"

	"github.com/agentry-dev/agentry/generator/internal/alloynames"
	"github.com/agentry-dev/agentry/generator/model"
	"github.com/agentry-dev/agentry/generator/runtimes/alloy/syntax"
)

// discover returns the targets of a job.
func (f *file) discover(job *model.ScrapeConfig) syntax.Expr {
	switch {
	case f.exporters[job] != "":
		return f.exporters[job]
	case job.Kubernetes != nil:
		return f.kubernetes(job.Kubernetes)
	case job.HTTP != nil:
		return writeCollected(f)
	case job.Static != nil:
		return f.static(job.Static)
	}
	var all []syntax.Expr
	for i := range job.Discoveries {
		all = append(all, f.service(job, &job.Discoveries[i]))
	}
	if len(all) == 0 {
		return "[]"
	}
	return concat(all)
}

// shared returns the targets of a discovery, which is written once. Prometheus shares those that are equal in all their
// settings, and so does Alloy's text then. The label must not depend on secret values: those that differ in nothing
// else are numbered.
func (f *file) shared(kind string, build func(*file) syntax.Block, label func() string) syntax.Expr {
	b := build(f)
	key := syntax.Text(&b)
	if f.redact {
		whole := build(&file{})
		key = syntax.Text(&whole)
	}
	key = kind + "\n" + key
	ref, known := f.discovered[key]
	if !known {
		b.Name, b.Label = kind, label()
		for n, first := 2, b.Label; f.discoveryIDs[kind+"."+b.Label]; n++ {
			b.Label = first + "_" + strconv.Itoa(n)
		}
		f.discoveryIDs[kind+"."+b.Label] = true
		ref = kind + "." + b.Label + ".targets"
		f.discovered[key] = ref
		f.discoveries = append(f.discoveries, component{Block: b})
	}
	return syntax.Expr(ref)
}

// namedNamespaces is how many namespaces are in the name of a discovery.
const namedNamespaces = 3

// kubernetes returns the targets of a discovery in Kubernetes. All monitors of a file use the same API server, so the
// label need not tell which. own is a selector for what the pod's own node has.
func (f *file) kubernetes(k *model.KubernetesSD, own ...*syntax.Block) syntax.Expr {
	b := watched(k)
	name := k.Role
	switch of := len(k.Namespaces); {
	case of > namedNamespaces || k.AttachNode != nil || len(k.Selectors) > 0:
		name = alloynames.Hashed(name, syntax.Text(&b))
	case of > 0:
		name += "__" + alloynames.Label(strings.Join(k.Namespaces, "/"))
	}
	if len(own) > 0 {
		name = "node__" + name
		b.Blocks = append(b.Blocks, own...)
	}
	return f.shared("discovery.kubernetes", func(f *file) syntax.Block {
		all := syntax.Block{Attrs: slices.Clone(b.Attrs), Blocks: slices.Clone(b.Blocks)}
		f.setURL(&all, "api_server", k.APIServer)
		f.client(&all, &k.HTTPClient)
		return all
	}, func() string { return name })
}

// watched returns the settings that choose the objects which a discovery in Kubernetes watches.
func watched(k *model.KubernetesSD) (b syntax.Block) {
	b.Set("role", syntax.String(k.Role))
	if len(k.Namespaces) > 0 {
		inner := syntax.Block{Name: "namespaces"}
		inner.Set("names", syntax.Strings(k.Namespaces))
		b.Add(inner)
	}
	if k.AttachNode != nil {
		inner := syntax.Block{Name: "attach_metadata"}
		inner.Set("node", syntax.Bool(*k.AttachNode))
		b.Add(inner)
	}
	for _, s := range k.Selectors {
		inner := syntax.Block{Name: "selectors"}
		inner.Set("role", syntax.String(s.Role))
		setString(&inner, "label", s.Label)
		setString(&inner, "field", s.Field)
		b.Add(inner)
	}
	return b
}

// static returns targets that are written out.
func (f *file) static(s *model.Static) syntax.Expr {
	var all []syntax.Expr
	for _, address := range s.Targets {
		pairs := []syntax.Pair{{Key: "__address__", Value: syntax.String(address)}}
		for _, name := range sortedKeys(s.Labels) {
			pairs = append(pairs, syntax.Pair{Key: name, Value: syntax.String(s.Labels[name])})
		}
		all = append(all, syntax.Object(pairs))
	}
	return syntax.Lines("[", all, "]")
}
