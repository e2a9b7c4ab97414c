package rbac

import (
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/model"
)

// Verbs are the verbs of a [Right].
type Verbs int

const (
	Get   Verbs = iota
	Watch       // which needs list as well
)

// List returns the verbs as in rules.
func (v Verbs) List() []string {
	if v == Watch {
		return []string{"list", "watch"}
	}
	return []string{"get"}
}

// Right is a permission that a pod needs: verbs on a resource, or on a non-resource path.
type Right struct {
	Group, Resource string
	URL             string
	Verbs           Verbs
	// Namespace limits the right; if it is empty, the right is for the whole cluster.
	Namespace string
}

// Rule returns the right as a rule of a role.
func (r Right) Rule() rbacv1.PolicyRule {
	if r.URL != "" {
		return rbacv1.PolicyRule{NonResourceURLs: []string{r.URL}, Verbs: r.Verbs.List()}
	}
	return rbacv1.PolicyRule{APIGroups: []string{r.Group}, Resources: []string{r.Resource}, Verbs: r.Verbs.List()}
}

// Need is a right with the objects that need it.
type Need struct {
	Right
	// Likely means that a target which receives the pod's token most likely needs the right; it may need another.
	Likely bool
	// By is the first object that needs it, and Others is the number of further objects.
	By     diag.Object
	Others int
}

// Needs returns the needs of pods with these configurations. Configurations may be nil.
func Needs(configs ...*model.Config) []Need {
	n := needs{at: map[Right]int{}}
	for _, c := range configs {
		if c == nil {
			continue
		}
		n.own = c.Origin.Object.Namespace
		n.metrics(c.Metrics)
		n.logs(c.Logs)
		n.integrations(c)
	}
	return n.list
}

// Merge merges two lists of needs; the needs of the first list come first.
func Merge(a, b []Need) []Need {
	n := needs{at: map[Right]int{}}
	for _, need := range slices.Concat(a, b) {
		n.add(need.By, need.Right, need.Likely)
		n.list[n.at[need.Right]].Others += need.Others
	}
	return n.list
}

// needs collects the needs of one GrafanaAgent.
type needs struct {
	own  string // the namespace of the pods
	at   map[Right]int
	list []Need
}

func (n *needs) add(by diag.Object, right Right, likely bool) {
	i, found := n.at[right]
	if !found {
		n.at[right] = len(n.list)
		n.list = append(n.list, Need{Right: right, Likely: likely, By: by})
		return
	}
	need := &n.list[i]
	need.Likely = need.Likely && likely
	if need.By != by && need.By.Kind != "" {
		need.Others++
	}
}

func (n *needs) metrics(m *model.Metrics) {
	if m == nil {
		return
	}
	for i := range m.Configs {
		for _, s := range m.Configs[i].ScrapeConfigs {
			n.job(s)
			if s.HTTP != nil && m.Integrations != nil && m.Integrations.Used {
				n.discovered(s.Origin.Object, ofJob(&m.Integrations.Pods))
			}
		}
		for j := range m.Configs[i].Additional {
			n.handWritten(&m.Configs[i].Additional[j])
		}
	}
}

func (n *needs) logs(l *model.Logs) {
	if l == nil {
		return
	}
	for i := range l.Configs {
		for _, s := range l.Configs[i].ScrapeConfigs {
			n.discovered(s.Origin.Object, ofJob(s.Kubernetes))
		}
		for j := range l.Configs[i].Additional {
			n.handWritten(&l.Configs[i].Additional[j])
		}
	}
}

// integrations adds the needs of integrations: eventhandler watches the events of the cluster, or of a namespace.
func (n *needs) integrations(c *model.Config) {
	if c.Integrations == nil {
		return
	}
	for _, list := range c.Integrations.Lists {
		if list.Name != "eventhandler" {
			continue
		}
		for _, config := range list.Configs {
			if text(config.Get("kubeconfig_path")) == "" {
				n.add(c.Origin.Object, Right{Resource: "events", Verbs: Watch,
					Namespace: text(config.Get("namespace"))}, false)
			}
		}
	}
}

func (n *needs) job(s *model.ScrapeConfig) {
	by := s.Origin.Object
	n.discovered(by, ofJob(s.Kubernetes))
	for i := range s.Discoveries {
		if d := &s.Discoveries[i]; d.Mechanism == "kubernetes" {
			n.discovered(by, ofSettings(d.Settings))
		}
	}
	if s.BearerToken.File != tokenFile && (s.Authorization == nil || s.Authorization.Credentials.File != tokenFile) {
		return
	}
	n.scraped(by, s.MetricsPath, slices.ContainsFunc(s.Relabel, func(r *model.Relabel) bool {
		return r.TargetLabel == pathLabel && strings.HasPrefix(r.Replacement.Value, nodesOfAPI)
	}))
}

const (
	tokenFile  = "/var/run/secrets/kubernetes.io/serviceaccount/token"
	pathLabel  = "__metrics_path__"
	nodesOfAPI = "/api/v1/nodes/"
)

// scraped adds the rights that targets most likely check when they receive the token: the API server and proxies check
// the path, kubelets nodes/metrics, and a node behind the API server nodes/proxy.
func (n *needs) scraped(by diag.Object, path string, behindAPI bool) {
	if behindAPI {
		n.add(by, Right{Resource: "nodes/proxy", Verbs: Get}, true)
		return
	}
	if path == "" {
		path = "/metrics"
	}
	n.add(by, Right{URL: path, Verbs: Get}, true)
	if strings.HasPrefix(path, "/metrics") {
		n.add(by, Right{Resource: "nodes/metrics", Verbs: Get}, true)
	}
}

// discovery is a service discovery of Kubernetes.
type discovery struct {
	role       string // empty if there is none, or if it uses another API server
	namespaces []string
	nodes      bool
	own        bool // in the pod's own namespace as well
}

// discovered adds the resources that a discovery watches, as in Prometheus's package discovery/kubernetes.
func (n *needs) discovered(by diag.Object, d discovery) {
	namespaces := d.namespaces
	if d.own {
		namespaces = append(slices.Clone(namespaces), n.own)
	}
	if len(namespaces) == 0 {
		namespaces = []string{""}
	}
	for _, r := range watched[d.role] {
		for _, namespace := range namespaces {
			n.add(by, Right{Group: r.group, Resource: r.name, Verbs: Watch, Namespace: namespace}, false)
		}
	}
	if d.role == "node" || d.nodes && d.role != "" {
		n.add(by, Right{Resource: "nodes", Verbs: Watch}, false)
	}
}

// watched maps the roles of a discovery to the namespaced resources that they watch.
var watched = map[string][]struct{ group, name string }{
	"pod":           {{"", "pods"}},
	"service":       {{"", "services"}},
	"endpoints":     {{"", "endpoints"}, {"", "services"}, {"", "pods"}},
	"endpointslice": {{"discovery.k8s.io", "endpointslices"}, {"", "services"}, {"", "pods"}},
	"ingress":       {{"networking.k8s.io", "ingresses"}},
}

func ofJob(k *model.KubernetesSD) discovery {
	if k == nil || k.APIServer.Set {
		return discovery{}
	}
	return discovery{role: k.Role, namespaces: k.Namespaces, nodes: k.AttachNode != nil && *k.AttachNode}
}

func ofSettings(s model.Map) discovery {
	if text(s.Get("api_server")) != "" {
		return discovery{}
	}
	d := discovery{role: text(s.Get("role")), nodes: isTrue(s.Get("attach_metadata"), "node"),
		own: isTrue(s.Get("namespaces"), "own_namespace")}
	namespaces, _ := s.Get("namespaces").(model.Map)
	names, _ := namespaces.Get("names").(model.List)
	for _, name := range names {
		d.namespaces = append(d.namespaces, text(name))
	}
	return d
}

func text(v model.Value) string {
	s, _ := v.(model.String)
	return string(s)
}

func isTrue(v model.Value, key string) bool {
	m, _ := v.(model.Map)
	b, _ := m.Get(key).(model.Bool)
	return bool(b)
}
