package promtail

import (
	"go.yaml.in/yaml/v3"

	"github.com/agentry-dev/agentry/generator/model"
	"github.com/agentry-dev/agentry/generator/runtimes/alloy/syntax"
)

// static reads targets that are written out. Without any, a group has one on this host.
func (r *reader) static(n *yaml.Node) {
	for _, group := range items(n) {
		addresses := []syntax.Expr{`"localhost"`}
		var labels []syntax.Pair
		each(group, func(key string, at, v *yaml.Node) {
			switch key {
			case "targets":
				if len(items(v)) > 0 {
					addresses = nil
				}
				for _, address := range items(v) {
					addresses = append(addresses, r.text(address))
				}
			case "labels":
				labels = r.pairs(v)
			default:
				r.cannot(at, "targets with this field are not rendered for Alloy")
			}
		})
		for _, address := range addresses {
			r.job.Static = append(r.job.Static,
				syntax.Object(append([]syntax.Pair{{Key: "__address__", Value: address}}, labels...)))
		}
	}
}

// kubernetes reads discoveries in the pod's own cluster.
func (r *reader) kubernetes(n *yaml.Node) {
	for _, item := range items(n) {
		sd := &model.KubernetesSD{}
		each(item, func(key string, at, v *yaml.Node) {
			switch key {
			case "role":
				sd.Role = r.plain(v)
			case "namespaces":
				r.namespaces(sd, v)
			case "selectors":
				for _, s := range items(v) {
					sd.Selectors = append(sd.Selectors, r.selector(s))
				}
			case "attach_metadata":
				each(v, func(_ string, _, v *yaml.Node) {
					sd.AttachNode = new(r.boolean(v))
				})
			default:
				r.cannot(at, "discovery of Kubernetes with this field is not rendered for Alloy")
			}
		})
		r.job.Kubernetes = append(r.job.Kubernetes, sd)
	}
}

func (r *reader) namespaces(sd *model.KubernetesSD, n *yaml.Node) {
	each(n, func(key string, at, v *yaml.Node) {
		switch {
		case key == "names":
			for _, name := range items(v) {
				sd.Namespaces = append(sd.Namespaces, r.plain(name))
			}
		case r.boolean(v):
			r.cannot(at, "own_namespace is not rendered for Alloy: write the name of the namespace")
		}
	})
}

func (r *reader) selector(n *yaml.Node) (out model.RoleSelector) {
	each(n, func(key string, _, v *yaml.Node) {
		switch key {
		case "role":
			out.Role = r.plain(v)
		case "label":
			out.Label = r.plain(v)
		case "field":
			out.Field = r.plain(v)
		}
	})
	return out
}

// journal reads the arguments of the journal.
func (r *reader) journal(n *yaml.Node) {
	r.job.Journal = []syntax.Attr{}
	each(n, func(key string, at, v *yaml.Node) {
		add := func(name string, e syntax.Expr) {
			r.job.Journal = append(r.job.Journal, syntax.Attr{Name: name, Value: e})
		}
		switch key {
		case "json":
			add("format_as_json", syntax.Bool(r.boolean(v)))
		case "max_age", "path", "matches":
			if v.Value != "" {
				add(key, r.text(v))
			}
		case "labels":
			if pairs := r.pairs(v); len(pairs) > 0 {
				add("labels", syntax.Object(pairs))
			}
		default:
			r.cannot(at, "a journal with this field is not rendered for Alloy")
		}
	})
}

func (r *reader) decompression(n *yaml.Node) {
	b := syntax.Block{Name: "decompression"}
	each(n, func(key string, at, v *yaml.Node) {
		switch key {
		case "enabled":
			b.Set(key, syntax.Bool(r.boolean(v)))
		case "initial_delay", "format":
			b.Set(key, r.text(v))
		default:
			r.cannot(at, "decompression with this field is not rendered for Alloy")
		}
	})
	r.job.Decompression = &b
}
