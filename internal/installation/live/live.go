// Package live reads an installation of the Grafana Agent Operator from the API server.
//
// It only lists objects, page by page, and changes nothing. It reads Secrets and ConfigMaps only in namespaces with
// custom resources, and never reads Helm releases and ServiceAccount tokens. Everything stays in memory.
package live

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/agentry-dev/agentry/internal/installation"
	"github.com/agentry-dev/agentry/internal/kubelist"
)

// pageTimeout limits each request.
const pageTimeout = time.Minute

// resource is a kind to list.
type resource struct {
	schema.GroupVersionResource
	// custom means that the objects are inputs: their CRD may be missing, and their namespaces are searched for other
	// objects.
	custom bool
	// perNamespace means that only namespaces with custom resources are searched.
	perNamespace bool
	fields       string // a field selector
}

func (r resource) String() string { return r.GroupResource().String() }

const (
	grafana    = "monitoring.grafana.com"
	prometheus = "monitoring.coreos.com"
	roles      = "rbac.authorization.k8s.io"
)

// resources returns the kinds in the order in which they are listed: custom resources tell where to search for the
// others.
func resources(o Options) (out []resource) {
	add := func(r resource, group, version string, names ...string) {
		for _, name := range names {
			r.GroupVersionResource = schema.GroupVersionResource{Group: group, Version: version, Resource: name}
			out = append(out, r)
		}
	}
	if o.State {
		add(resource{custom: true}, "kustomize.toolkit.fluxcd.io", "v1", "kustomizations")
		add(resource{custom: true}, "helm.toolkit.fluxcd.io", "v2", "helmreleases")
		add(resource{custom: true}, "argoproj.io", "v1alpha1", "applicationsets",
			"appprojects") // Argo CD's own namespace has one
		add(resource{}, "", "v1", "namespaces")
		add(resource{perNamespace: true}, "", "v1", "configmaps")
		if !o.WithoutSecrets {
			add(secrets, "", "v1", "secrets")
		}
		return out
	}
	add(resource{custom: true}, grafana, "v1alpha1", "grafanaagents", "metricsinstances", "logsinstances",
		"integrations", "podlogs")
	add(resource{custom: true}, prometheus, "v1", "servicemonitors", "podmonitors", "probes")
	add(resource{custom: true}, prometheus, "v1alpha1", "scrapeconfigs")
	add(resource{}, "", "v1", "namespaces", "serviceaccounts")
	add(resource{}, roles, "v1", "roles", "rolebindings", "clusterroles", "clusterrolebindings")
	add(resource{}, "apps", "v1", "statefulsets", "daemonsets", "deployments")
	add(resource{perNamespace: true}, "", "v1", "configmaps")
	if o.WithoutSecrets {
		return out
	}
	add(secrets, "", "v1", "secrets")
	return out
}

// secrets are all but those that Helm keeps for itself.
var secrets = resource{perNamespace: true, fields: "type!=helm.sh/release.v1"}

// Options choose the objects to read.
type Options struct {
	// WithoutSecrets leaves Secrets out.
	WithoutSecrets bool
	// State reads what describes the cluster, for [installation.Installation.State], in place of an installation of the
	// operator.
	State bool
}

// Result has the objects that were read.
type Result struct {
	*installation.Installation
	// Absent are the custom resources that the cluster does not define.
	Absent []string
	// APIVersions are GROUP/VERSION and GROUP/VERSION/KIND of what the API server serves. They are read for the state
	// only.
	APIVersions []string
}

// ForbiddenError names the resources that the user may not list.
type ForbiddenError struct{ Resources []schema.GroupResource }

// Error implements error.
func (e *ForbiddenError) Error() string {
	names := make([]string, len(e.Resources))
	for i, r := range e.Resources {
		names[i] = r.String()
	}
	return "the API server does not let you list " + strings.Join(names, ", ")
}

// Rules returns the rules of a ClusterRole that may read an installation.
func Rules(o Options) string {
	names := map[string][]string{}
	var groups []string
	for _, r := range resources(o) {
		if names[r.Group] == nil {
			groups = append(groups, r.Group)
		}
		names[r.Group] = append(names[r.Group], r.Resource)
	}
	var b strings.Builder
	b.WriteString("rules:\n")
	for _, group := range groups {
		b.WriteString("  - " + kubelist.Rule(group, names[group]...) + "\n")
	}
	return b.String()
}

// Read lists the objects of an installation.
func Read(ctx context.Context, config *rest.Config, o Options) (Result, error) {
	client, err := kubelist.New(config)
	if err != nil {
		return Result{}, err
	}
	r := reader{client: client, namespaces: map[string]bool{}}
	for _, what := range resources(o) {
		if err := r.read(ctx, what); err != nil {
			return Result{}, fmt.Errorf("list %s: %w", what, err)
		}
	}
	switch {
	case len(r.forbidden) > 0:
		return Result{}, &ForbiddenError{r.forbidden}
	case o.State:
		versions, err := apiVersions(ctx, client.Config)
		return Result{installation.Of(r.objects), nil, versions}, err
	case slices.Contains(r.absent, "grafanaagents."+grafana):
		return Result{}, errors.New(
			"the cluster has no CustomResourceDefinition grafanaagents.monitoring.grafana.com: the Grafana Agent " +
				"Operator is not installed there")
	}
	return Result{installation.Of(r.objects), r.absent, nil}, nil
}

// apiVersions asks the API server what it serves: the versions, and the kinds of each. An aggregated API whose server
// does not answer is left out. client-go's discovery would link the types of all APIs.
// https://kubernetes.io/docs/concepts/overview/kubernetes-api/#discovery-api
func apiVersions(ctx context.Context, config *rest.Config) ([]string, error) {
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, err
	}
	server, _, err := rest.DefaultServerUrlFor(config)
	if err != nil {
		return nil, err
	}
	get := func(path string, into any) error {
		return getJSON(ctx, client, server.JoinPath(path).String(), into)
	}
	var core metav1.APIVersions
	var groups metav1.APIGroupList
	if err := errors.Join(get("api", &core), get("apis", &groups)); err != nil {
		return nil, fmt.Errorf("list API versions: %w", err)
	}
	paths := map[string]string{}
	for _, version := range core.Versions {
		paths[version] = "api/" + version
	}
	for _, group := range groups.Groups {
		for _, version := range group.Versions {
			paths[version.GroupVersion] = "apis/" + version.GroupVersion
		}
	}
	var out []string
	for version, path := range paths {
		var list metav1.APIResourceList
		if get(path, &list) != nil {
			continue
		}
		out = append(out, version)
		for _, r := range list.APIResources {
			if !strings.Contains(r.Name, "/") { // no part of another resource
				out = append(out, version+"/"+r.Kind)
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}

// getJSON decodes what a server answers.
func getJSON(ctx context.Context, client *http.Client, url string, into any) error {
	const maxBytes = 16 << 20
	ctx, cancel := context.WithTimeout(ctx, pageTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	request.Header.Set("Accept", "application/json")
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", url, response.Status)
	}
	return json.NewDecoder(io.LimitReader(response.Body, maxBytes)).Decode(into)
}

// reader collects the objects.
type reader struct {
	client     *kubelist.Client
	objects    []*unstructured.Unstructured
	namespaces map[string]bool // of custom resources
	absent     []string
	forbidden  []schema.GroupResource
}

// read lists a resource in the namespaces to be searched. It records resources that are forbidden or missing.
func (r *reader) read(ctx context.Context, what resource) error {
	if !what.perNamespace {
		return r.note(what, r.list(ctx, what, ""))
	}
	for namespace := range r.namespaces {
		if err := r.note(what, r.list(ctx, what, namespace)); err != nil {
			return err
		}
	}
	return nil
}

func (r *reader) note(what resource, err error) error {
	switch {
	case apierrors.IsForbidden(err):
		if !slices.Contains(r.forbidden, what.GroupResource()) {
			r.forbidden = append(r.forbidden, what.GroupResource())
		}
		return nil
	case apierrors.IsNotFound(err) && what.custom:
		r.absent = append(r.absent, what.String())
		return nil
	}
	return err
}

// list adds all objects of a resource.
func (r *reader) list(ctx context.Context, what resource, namespace string) error {
	query := kubelist.Query{Resource: what.GroupVersionResource, Namespace: namespace, Fields: what.fields}
	found, err := kubelist.List(ctx, r.client, query,
		func(o *unstructured.Unstructured) (*unstructured.Unstructured, error) { return o, nil })
	for _, o := range found {
		if what.custom {
			r.namespaces[o.GetNamespace()] = true
		}
	}
	r.objects = append(r.objects, found...)
	return err
}
