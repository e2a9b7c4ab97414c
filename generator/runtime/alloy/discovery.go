package alloy

import (
	"strings"

	"github.com/agentry-dev/agentry/generator/model"
	"github.com/agentry-dev/agentry/generator/runtime/alloy/syntax"
)

// discover returns the targets of a job.
func (f *file) discover(job *model.ScrapeConfig) syntax.Expr {
	switch {
	case job.Kubernetes != nil:
		return f.kubernetes(job.Kubernetes)
	case job.HTTP != nil:
		return f.http(job.HTTP)
	case job.Static != nil:
		return f.static(job.Static)
	}
	return "[]"
}

// shared returns the targets of a discovery, which is written once. Prometheus shares those that are equal in all their
// settings, and so does Alloy's text then.
func (f *file) shared(kind, name string, b *syntax.Block) syntax.Expr {
	key := kind + "\n" + syntax.Text(b)
	ref, known := f.discovered[key]
	if !known {
		b.Name, b.Label = kind, name
		ref = kind + "." + name + ".targets"
		f.discovered[key] = ref
		f.discoveries = syntax.Append(f.discoveries, b)
	}
	return syntax.Expr(ref)
}

// namedNamespaces is how many namespaces are in the name of a discovery.
const namedNamespaces = 3

// kubernetes returns the targets of a discovery in Kubernetes. All discoveries of a file use the same API server, so its
// name need not tell which. own is a selector for what the pod's own node has.
func (f *file) kubernetes(k *model.KubernetesSD, own ...syntax.Block) syntax.Expr {
	var b syntax.Block
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
	name := k.Role
	switch of := len(k.Namespaces); {
	case of > namedNamespaces || k.AttachNode != nil || len(k.Selectors) > 0:
		name = hashed(name, syntax.Text(&b))
	case of > 0:
		name += "__" + label(strings.Join(k.Namespaces, "/"))
	}
	if len(own) > 0 {
		name = "node__" + name
		b.Blocks = append(b.Blocks, own...)
	}
	f.setURL(&b, "api_server", k.APIServer)
	f.client(&b, &k.HTTPClient)
	return f.shared("discovery.kubernetes", name, &b)
}

// http returns the targets that a server lists.
func (f *file) http(h *model.HTTPSD) syntax.Expr {
	var b syntax.Block
	f.setURL(&b, "url", h.URL)
	setString(&b, "refresh_interval", goDuration(h.RefreshInterval))
	f.client(&b, &h.HTTPClient)
	return f.shared("discovery.http", hashed("integrations", h.URL), &b)
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
