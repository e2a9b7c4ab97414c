package targets

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/agentry-dev/agentry/generator/explain"
	"github.com/agentry-dev/agentry/internal/kubelist"
)

// resources are those in which targets are found, by their names.
var resources = map[string]schema.GroupVersionResource{
	"namespaces":     {Version: "v1", Resource: "namespaces"},
	"nodes":          {Version: "v1", Resource: "nodes"},
	"pods":           {Version: "v1", Resource: "pods"},
	"services":       {Version: "v1", Resource: "services"},
	"endpoints":      {Version: "v1", Resource: "endpoints"},
	"endpointslices": {Group: "discovery.k8s.io", Version: "v1", Resource: "endpointslices"},
	"ingresses":      {Group: "networking.k8s.io", Version: "v1", Resource: "ingresses"},
}

// resourcesOf returns the resources that the discovery of a role reads.
func resourcesOf(role string, attachesNode bool) (out []string) {
	switch role {
	case "node":
		return []string{"nodes"}
	case "service":
		return []string{"services"}
	case "ingress":
		return []string{"ingresses"}
	case "pod":
		out = []string{"pods"}
	case "endpoints", "endpointslice":
		out = []string{plural(role), "services", "pods"}
	}
	if attachesNode {
		out = append(out, "nodes")
	}
	return out
}

func plural(role string) string {
	if role == "endpoints" {
		return role
	}
	return role + "s"
}

// maxNamespaces is how many namespaces are asked one by one. Above that, all are asked at once.
const maxNamespaces = 20

// FromServer lists the objects that jobs need from an API server. What the user may not list is in [Cluster.Unread].
func FromServer(ctx context.Context, config *rest.Config, jobs []explain.ScrapeJob) (*Cluster, error) {
	client, err := kubelist.New(config)
	if err != nil {
		return nil, err
	}
	c := newCluster()
	needed := needs(jobs)
	for _, resource := range slices.Sorted(maps.Keys(needed)) {
		if err := c.read(ctx, client, resource, slices.Sorted(maps.Keys(needed[resource]))); err != nil {
			return nil, err
		}
	}
	missing, err := c.list(ctx, client, "namespaces", "")
	if missing == nil && c.namespaces == nil {
		c.namespaces = map[string]bool{}
	}
	return c, err // only hints need namespaces
}

// read lists a resource in namespaces; the empty namespace is all.
func (c *Cluster) read(ctx context.Context, client *kubelist.Client, resource string, namespaces []string) error {
	if slices.Contains(namespaces, "") || len(namespaces) > maxNamespaces {
		missing, err := c.list(ctx, client, resource, "")
		if missing == nil {
			return err
		}
		c.Unread = append(c.Unread, *missing)
	}
	for _, namespace := range namespaces {
		if namespace == "" {
			continue
		}
		missing, err := c.list(ctx, client, resource, namespace)
		if err != nil {
			return err
		}
		if missing != nil {
			c.Unread = append(c.Unread, *missing)
		}
	}
	return nil
}

// list adds the objects of a resource. It returns what the user may not list, or what the API server does not have.
func (c *Cluster) list(ctx context.Context, client *kubelist.Client, resource, namespace string) (*Unread, error) {
	what := resources[resource]
	_, err := kubelist.List(ctx, client, kubelist.Query{Resource: what, Namespace: namespace},
		func(o *unstructured.Unstructured) (struct{}, error) {
			_, err := c.add(o)
			return struct{}{}, err
		})
	switch {
	case apierrors.IsForbidden(err):
		return &Unread{Resource: resource, Namespace: namespace, Why: "the user may not list them",
			Rule: kubelist.Rule(what.Group, resource)}, nil
	case apierrors.IsNotFound(err):
		return &Unread{Resource: resource, Namespace: namespace,
			Why: "the API server has no " + what.GroupVersion().String() + " " + resource}, nil
	case err != nil:
		return nil, fmt.Errorf("list %s: %w", resource, err)
	}
	of := c.known[resource]
	if of.namespaces == nil {
		of.namespaces = map[string]bool{}
	}
	of.all = of.all || namespace == ""
	of.namespaces[namespace] = true
	c.known[resource] = of
	return nil, nil
}

// needs returns the namespaces in which jobs need each resource; the empty namespace is all.
func needs(jobs []explain.ScrapeJob) map[string]map[string]bool {
	out := map[string]map[string]bool{}
	for i := range jobs {
		for _, d := range readJob(&jobs[i]).discoveries {
			for _, resource := range resourcesOf(d.role, d.attachesNode) {
				if out[resource] == nil {
					out[resource] = map[string]bool{}
				}
				if len(d.namespaces) == 0 || resource == "nodes" {
					out[resource][""] = true
				}
				for _, namespace := range d.namespaces {
					if resource != "nodes" {
						out[resource][namespace] = true
					}
				}
			}
		}
	}
	return out
}

func unreadable(o *unstructured.Unstructured) error {
	return errors.New(o.GetKind() + "/" + o.GetNamespace() + "/" + o.GetName() +
		" is not as the API server prints it")
}
