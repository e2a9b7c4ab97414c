package rbac_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/generator/model"
	"github.com/agentry-dev/agentry/generator/rbac"
)

var update = flag.Bool("update", false, "rewrite the expectations in testdata")

var account = manifest.ID{Kind: "ServiceAccount", Namespace: "m", Name: "agent"}

// watchesPods returns a job that watches pods in some namespaces, or in all.
func watchesPods(namespaces ...string) *model.ScrapeConfig {
	return &model.ScrapeConfig{Origin: origin("PodMonitor", "p"),
		Kubernetes: &model.KubernetesSD{Role: "pod", Namespaces: namespaces}}
}

func origin(kind, name string) model.Origin {
	return model.Origin{Object: diag.Object{Kind: kind, Namespace: "m", Name: name}}
}

func needs(instance model.Instance) []rbac.Need {
	return rbac.Needs(nil, &model.Config{Origin: origin("GrafanaAgent", "a"),
		Metrics: &model.Metrics{Configs: []model.Instance{instance}}})
}

const (
	clusterBinding = "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRoleBinding\nmetadata: {name: b}\n" +
		"roleRef: {kind: ClusterRole, name: r}\nsubjects: [{kind: ServiceAccount, name: agent, namespace: m}]\n"
	role      = "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: r}\nrules: "
	watchPods = "[{apiGroups: [''], resources: [pods], verbs: [list, watch]}]\n"
	inShop    = "apiVersion: rbac.authorization.k8s.io/v1\nkind: RoleBinding\n" +
		"metadata: {name: b, namespace: shop}\n"
	toTheAccount = "subjects: [{kind: ServiceAccount, name: agent, namespace: m}]\n"
	aggregated   = "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: r}\n" +
		"aggregationRule: {clusterRoleSelectors: [{matchLabels: {to: agent}}]}\nrules: "
	part = "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\n" +
		"metadata: {name: part, labels: {to: agent}}\nrules: "
)

// TestRightsAreThoseOfTheAuthorizer compares what a pod needs with roles and bindings, as the API server's authorizer
// would. test/e2e/validity asks a real one.
func TestRightsAreThoseOfTheAuthorizer(t *testing.T) {
	const listEverywhere = clusterBinding + "---\n" + role +
		"[{apiGroups: [''], resources: [pods], verbs: [list]}]\n---\n"
	watchMore := strings.Replace(role, "name: r", "name: more", 1) +
		"[{apiGroups: [''], resources: [pods], verbs: [watch]}]"
	const shop, all = "may not list and watch pods in the namespace shop",
		"may not list and watch pods in the whole cluster"
	for name, test := range map[string]struct {
		rights     string
		namespaces []string
		want       string
	}{
		"a cluster role": {clusterBinding + "---\n" + role + watchPods, nil, ""},
		"no verb watch": {clusterBinding + "---\n" + role +
			"[{apiGroups: [''], resources: [pods], verbs: [get, list]}]", nil,
			"may not watch pods in the whole cluster"},
		"all verbs": {clusterBinding + "---\n" + role +
			"[{apiGroups: [''], resources: [pods], verbs: ['*']}]", nil, ""},
		"all resources": {clusterBinding + "---\n" + role +
			"[{apiGroups: [''], resources: ['*'], verbs: [list, watch]}]", nil, ""},
		"all subresources": {clusterBinding + "---\n" + role +
			"[{apiGroups: [''], resources: ['*/log'], verbs: [list, watch]}]", nil, all},
		"all groups": {clusterBinding + "---\n" + role +
			"[{apiGroups: ['*'], resources: [pods], verbs: [list, watch]}]", nil, ""},
		"another group": {clusterBinding + "---\n" + role +
			"[{apiGroups: [metrics.k8s.io], resources: [pods], verbs: [list, watch]}]", nil, all},
		"no group": {clusterBinding + "---\n" + role +
			"[{resources: [pods], verbs: [list, watch]}]", nil, all},
		"verbs of two rules": {clusterBinding + "---\n" + role +
			"[{apiGroups: [''], resources: [pods], verbs: [list]}, {apiGroups: [''], resources: [pods], verbs: " +
			"[watch]}]", nil, ""},
		"single objects": {clusterBinding + "---\n" + role +
			"[{apiGroups: [''], resources: [pods], verbs: [list, watch], resourceNames: [one]}]", nil, all},
		"the whole cluster, for a namespace": {clusterBinding + "---\n" + role + watchPods, []string{"shop"},
			""},
		"a namespace, for the whole cluster": {inShop + toTheAccount +
			"roleRef: {kind: ClusterRole, name: r}\n---\n" + role + watchPods, nil, all},
		"a cluster role in a namespace": {inShop + toTheAccount +
			"roleRef: {kind: ClusterRole, name: r}\n---\n" + role + watchPods, []string{"shop"}, ""},
		"a role of the namespace": {inShop + toTheAccount + "roleRef: {kind: Role, name: r}\n---\n" +
			strings.Replace(role, "ClusterRole\nmetadata: {name: r", "Role\nmetadata: {name: r, namespace: shop", 1) +
			watchPods, []string{"shop"}, ""},
		"another namespace": {inShop + toTheAccount +
			"roleRef: {kind: ClusterRole, name: r}\n---\n" + role + watchPods, []string{"shop", "search"},
			"may not list and watch pods in the namespace search"},
		"another account": {strings.ReplaceAll(clusterBinding, "name: agent", "name: other") +
			"---\n" + role + "[]", nil, ""},
		"the account of the binding's namespace": {strings.ReplaceAll(inShop, "shop", "m") +
			"subjects: [{kind: ServiceAccount, name: agent}]\nroleRef: {kind: ClusterRole, name: r}\n---\n" + role +
			"[]", []string{"m"}, "may not list and watch pods in the namespace m"},
		"the account as a user": {strings.ReplaceAll(clusterBinding,
			"kind: ServiceAccount, name: agent, namespace: m", "kind: User, name: 'system:serviceaccount:m:agent'") +
			"---\n" + role + "[]", nil, all},
		"accounts of its namespace": {strings.ReplaceAll(clusterBinding,
			"kind: ServiceAccount, name: agent, namespace: m", "kind: Group, name: 'system:serviceaccounts:m'") +
			"---\n" + role + watchPods, nil, ""},
		"all accounts": {strings.ReplaceAll(clusterBinding,
			"kind: ServiceAccount, name: agent, namespace: m", "kind: Group, name: 'system:serviceaccounts'") +
			"---\n" + role + "[]", nil, ""},
		"accounts of its namespace, for another program": {strings.ReplaceAll(inShop, "shop", "images") +
			"subjects: [{kind: Group, name: 'system:serviceaccounts:m'}]\nroleRef: {kind: ClusterRole, name: r}\n---\n" +
			role + "[]", []string{"shop"}, ""},
		"accounts of its namespace, in a namespace": {strings.ReplaceAll(inShop, "shop", "m") +
			"subjects: [{kind: Group, name: 'system:serviceaccounts:m'}]\nroleRef: {kind: ClusterRole, name: r}\n---\n" +
			role + watchPods, []string{"m"}, ""},
		"everybody, in a namespace of another program": {strings.ReplaceAll(inShop, "shop", "info") +
			"subjects: [{kind: Group, name: 'system:authenticated'}]\nroleRef: {kind: ClusterRole, name: r}\n---\n" +
			role + "[]", []string{"shop"}, ""},
		"everybody besides the account": {clusterBinding + "---\n" + role + "[]\n---\n" + strings.ReplaceAll(
			strings.ReplaceAll(clusterBinding, "kind: ServiceAccount, name: agent, namespace: m",
				"kind: Group, name: 'system:authenticated'"), "name: r}", "name: everybody}") + "---\n" +
			strings.Replace(role, "name: r", "name: everybody", 1) + watchPods, nil, ""},
		"a role that the inputs do not have": {clusterBinding, nil, ""},
		"one of two roles that they do not have": {clusterBinding + "---\n" + role + "[]\n---\n" +
			strings.ReplaceAll(clusterBinding, "name: r}", "name: view}"), nil, ""},
		"such a role in a namespace": {inShop + toTheAccount +
			"roleRef: {kind: ClusterRole, name: view}\n---\n" + clusterBinding + "---\n" + role + "[]",
			[]string{"shop", "search"}, "may not list and watch pods in the namespace search"},
		"aggregated": {clusterBinding + "---\n" + aggregated + "[]\n---\n" + part +
			watchPods, nil, ""},
		"aggregated, and rules of its own": {clusterBinding + "---\n" + aggregated + watchPods + "---\n" +
			part + "[]", nil, all},
		"aggregated of what every cluster has": {clusterBinding + "---\n" +
			strings.ReplaceAll(aggregated, "to: agent", "rbac.authorization.k8s.io/aggregate-to-view: 'true'") + "[]",
			nil, ""},
		"aggregated of nothing that the inputs say": {clusterBinding + "---\n" + aggregated + "[]", nil, ""},
		"two definitions of a role": {clusterBinding + "---\n" + role + "[]\n---\n" + role + watchPods,
			nil, ""},
		"verbs of the cluster and of a namespace": {listEverywhere + inShop + toTheAccount +
			"roleRef: {kind: ClusterRole, name: more}\n---\n" + watchMore, []string{"shop"}, ""},
		"such verbs, and another namespace": {listEverywhere + inShop + toTheAccount +
			"roleRef: {kind: ClusterRole, name: more}\n---\n" + watchMore, []string{"shop", "search"},
			"may not watch pods in the namespace search"},
		"a namespace, bound elsewhere": {strings.ReplaceAll(inShop, "shop", "other") + toTheAccount +
			"roleRef: {kind: ClusterRole, name: r}\n---\n" + role + watchPods, []string{"shop"}, shop},
	} {
		t.Run(name, func(t *testing.T) {
			set := manifest.NewSet(manifest.Parse(manifest.File{Path: "rbac.yaml", Data: []byte(test.rights)},
				manifest.Options{}))
			if len(set.All()) > 0 || len(set.Rights()) != strings.Count(test.rights, "apiVersion") {
				t.Fatalf("%d objects, %d of them rights", len(set.All()), len(set.Rights()))
			}
			found := rbac.NewGrants(set.Rights()).Missing(rbac.Account{ID: account,
				Needs: needs(model.Instance{ScrapeConfigs: []*model.ScrapeConfig{watchesPods(test.namespaces...)}})})
			if test.want == "" && len(found) > 0 ||
				test.want != "" && (len(found) != 1 || !strings.Contains(found[0].Problem(), test.want) ||
					found[0].Line == 0) {
				t.Errorf("want %q, got %v", test.want, found)
			}
		})
	}
}

// TestManyNamespacesAreOneFinding: several namespaces with the same missing rights share one finding that names some
// of them.
func TestManyNamespacesAreOneFinding(t *testing.T) {
	set := manifest.NewSet(manifest.Parse(manifest.File{Path: "rbac.yaml",
		Data: []byte(clusterBinding + "---\n" + role + "[]")}, manifest.Options{}))
	jobs := []*model.ScrapeConfig{watchesPods("a", "b"), watchesPods("c", "d", "e")}
	jobs[1].Origin.Object.Name = "q"
	found := rbac.NewGrants(set.Rights()).Missing(rbac.Account{ID: account,
		Needs: needs(model.Instance{ScrapeConfigs: jobs})})
	const want = "in the namespaces a, b, c and 2 more: PodMonitor/m/p and others find nothing there"
	if len(found) != 1 || !strings.HasSuffix(found[0].Problem(), want) {
		t.Errorf("%v", found)
	}
}

// TestNeedsOfHandWrittenJobs reads discoveries of Prometheus's and Promtail's own format.
func TestNeedsOfHandWrittenJobs(t *testing.T) {
	const jobs = `
- kubernetes_sd_configs: [{role: node}]
  bearer_token_file: /var/run/secrets/kubernetes.io/serviceaccount/token
  relabel_configs: [{target_label: __metrics_path__, replacement: /api/v1/nodes/$1/proxy/metrics}]
- kubernetes_sd_configs: [{role: endpointslice, namespaces: {own_namespace: true, names: [shop]}, attach_metadata: {node: true}}]
- kubernetes_sd_configs: [{role: ingress, api_server: "https://other"}, {role: ingress, kubeconfig_file: /k}, {role: "${ROLE}"}, {role: pod, namespaces: {own_namespace: "${OWN}"}}]
  authorization: {credentials_file: /var/run/secrets/kubernetes.io/serviceaccount/token}
  metrics_path: /probe
`
	var list []yaml.Node
	if err := yaml.Unmarshal([]byte(jobs), &list); err != nil {
		t.Fatal(err)
	}
	var instance model.Instance
	for i := range list {
		instance.Additional = append(instance.Additional, model.Raw{Origin: origin("Secret", "jobs"), Job: &list[i]})
	}
	same(t, "written", rbac.Manifests(rbac.Account{ID: account, Needs: needs(instance)}, true))
}

// same compares a text with a file in testdata, or writes the file with -update.
func same(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name+".yaml")
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestNeedsOfCollectedIntegrations: a program that collects integrations from their pods watches these pods; a program
// that asks the sd-aggregator for them does not.
func TestNeedsOfCollectedIntegrations(t *testing.T) {
	job := &model.ScrapeConfig{Origin: origin("IntegrationMonitor", "all"), HTTP: &model.HTTPSD{URL: "http://sd"}}
	for used, want := range map[bool]int{true: 1, false: 0} {
		got := rbac.Needs(nil, &model.Config{Origin: origin("GrafanaAgent", "a"), Metrics: &model.Metrics{
			Configs: []model.Instance{{ScrapeConfigs: []*model.ScrapeConfig{job}}},
			Integrations: &model.PodIntegrations{Used: used,
				Pods: model.KubernetesSD{Role: "pod", Namespaces: []string{"m"}}},
		}})
		right := rbac.Right{Resource: "pods", Verbs: rbac.Watch, Namespace: "m"}
		if len(got) != want || want == 1 && got[0].Right != right {
			t.Errorf("used %t: %+v", used, got)
		}
	}
}

// TestUnneeded finds rights that a role grants but no pod needs.
func TestUnneeded(t *testing.T) {
	const elsewhere = "---\napiVersion: rbac.authorization.k8s.io/v1\nkind: RoleBinding\n" +
		"metadata: {name: x, namespace: other}\nroleRef: {kind: ClusterRole, name: r}\n" +
		"subjects: [{kind: ServiceAccount, name: %s, namespace: m}]\n"
	for name, test := range map[string]struct{ rules, more, want string }{
		"exactly what is needed": {"[{apiGroups: [''], resources: [pods], verbs: [list, watch]}]", "", ""},
		"a verb more": {"[{apiGroups: [''], resources: [pods], verbs: [get, list, watch]}]", "",
			"rules[0]: no pod needs get of pods"},
		"resources more": {"[{apiGroups: [''], resources: [pods, secrets, nodes], verbs: [list, watch]}]", "",
			"rules[0]: no pod needs list and watch of nodes and secrets"},
		"a rule more": {"[{apiGroups: [''], resources: [pods], verbs: [list, watch]}, {apiGroups: [apps], resources: " +
			"[deployments], verbs: [list]}]", "",
			"rules[1]: no pod needs list of deployments.apps"},
		"a path": {"[{nonResourceURLs: [/metrics], verbs: [get]}]", "",
			"rules[0]: no pod needs get of /metrics"},
		"single objects": {
			"[{apiGroups: [''], resources: [pods], resourceNames: [one], verbs: [list, get]}]", "",
			"rules[0]: no pod needs get and list of pods"},
		"a wildcard that covers it": {"[{apiGroups: ['*'], resources: ['*'], verbs: ['*']}]", "", ""},
		"bound where nothing is": {"[{apiGroups: [''], resources: [pods], verbs: [list, watch]}]",
			strings.Replace(elsewhere, "%s", "agent", 1), ""},
		"bound to somebody else too": {"[{apiGroups: [''], resources: [secrets], verbs: [list]}]",
			strings.Replace(elsewhere, "%s", "other", 1), ""},
		"a role that is not in there": {"", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			text := clusterBinding + test.more
			if test.rules != "" {
				text += "---\n" + role + test.rules
			}
			set := manifest.NewSet(manifest.Parse(manifest.File{Path: "rbac.yaml", Data: []byte(text)},
				manifest.Options{}))
			found := rbac.NewGrants(set.Rights()).Unneeded([]rbac.Account{{ID: account,
				Needs: needs(model.Instance{ScrapeConfigs: []*model.ScrapeConfig{watchesPods("shop")}})}})
			if test.want == "" && len(found) > 0 ||
				test.want != "" && (len(found) != 1 || found[0].Problem() != test.want || found[0].Line == 0) {
				t.Errorf("want %q, got %v", test.want, found)
			}
		})
	}
}
