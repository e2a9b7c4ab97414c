package chart

import (
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
)

func TestRights(t *testing.T) {
	read := rbacv1.PolicyRule{APIGroups: []string{"discovery.k8s.io"}, Resources: []string{"endpointslices"},
		Verbs: []string{"get", "list", "watch"}}
	nodes := rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"nodes"}, Verbs: []string{"list", "watch"}}
	kubelet := []rbacv1.PolicyRule{
		{APIGroups: []string{""}, Resources: []string{"services", "endpoints"}, ResourceNames: []string{"kubelets"},
			Verbs: []string{"get", "update"}},
		{APIGroups: []string{"coordination.k8s.io"}, Resources: []string{"leases"},
			ResourceNames: []string{"sd-aggregator-kubelets"}, Verbs: []string{"get", "update"}},
		{APIGroups: []string{""}, Resources: []string{"services", "endpoints"}, Verbs: []string{"create"}},
		{APIGroups: []string{"coordination.k8s.io"}, Resources: []string{"leases"}, Verbs: []string{"create"}},
	}
	for name, test := range map[string]struct {
		values string
		want   map[string][]rbacv1.PolicyRule
		token  bool
	}{
		"nothing said: the release's namespace": {
			want: map[string][]rbacv1.PolicyRule{"Role monitoring/sd-aggregator": {read}}, token: true,
		},
		"two namespaces, and not that of the release": {
			values: "namespaces: [shop, edge]",
			want: map[string][]rbacv1.PolicyRule{"Role edge/monitoring-sd-aggregator": {read},
				"Role shop/monitoring-sd-aggregator": {read}}, token: true,
		},
		"the whole cluster": {
			values: "rbac: {clusterWide: true}",
			want:   map[string][]rbacv1.PolicyRule{"ClusterRole /monitoring-sd-aggregator": {read}}, token: true,
		},
		"a kubelet Service": {
			values: "kubeletService: {enabled: true, service: infra/kubelets}",
			want: map[string][]rbacv1.PolicyRule{
				"Role monitoring/sd-aggregator":                 {read},
				"ClusterRole /monitoring-sd-aggregator-kubelet": {nodes},
				"Role infra/monitoring-sd-aggregator-kubelet":   kubelet,
			}, token: true,
		},
		"a kubelet Service in the namespace of the release, with DNS": {
			values: "dns: ['monitoring/agent=agent.monitoring.svc:8080']\n" +
				"kubeletService: {enabled: true, service: monitoring/kubelets}",
			want: map[string][]rbacv1.PolicyRule{"ClusterRole /monitoring-sd-aggregator-kubelet": {nodes},
				"Role monitoring/sd-aggregator-kubelet": kubelet},
		},
		"DNS": {values: "dns: ['monitoring/agent=agent.monitoring.svc:8080']",
			want: map[string][]rbacv1.PolicyRule{}},
		"made elsewhere": {values: "rbac: {create: false}", want: map[string][]rbacv1.PolicyRule{}, token: true},
	} {
		t.Run(name, func(t *testing.T) {
			all := sdAggregator().objects(t, parse(t, test.values))
			got := map[string][]rbacv1.PolicyRule{}
			for _, r := range of[*rbacv1.Role](all) {
				got[id(r)] = r.Rules
			}
			for _, r := range of[*rbacv1.ClusterRole](all) {
				got[id(r)] = r.Rules
			}
			if diff := gocmp.Diff(test.want, got); diff != "" {
				t.Errorf("rights (-want +got):\n%s", diff)
			}
			if len(of[*corev1.ServiceAccount](all)) != len(of[*appsv1.Deployment](all)) {
				t.Error("Deployments share a ServiceAccount")
			}
			if token := *of[*appsv1.Deployment](all)[0].Spec.Template.Spec.AutomountServiceAccountToken; test.token &&
				!token || strings.HasPrefix(name, "DNS") && token {
				t.Errorf("a token is mounted: %v", token)
			}
			for _, a := range of[*corev1.ServiceAccount](all) {
				if *a.AutomountServiceAccountToken {
					t.Errorf("%s gives its token to every pod", id(a))
				}
			}
			checkBindings(t, all)
		})
	}
}

// checkBindings holds each binding to the role of its name and to a ServiceAccount of the release that one Deployment
// uses.
func checkBindings(t *testing.T, all []object) {
	t.Helper()
	accounts := map[string]bool{}
	for _, d := range of[*appsv1.Deployment](all) {
		accounts[d.Spec.Template.Spec.ServiceAccountName] = true
	}
	check := func(o object, ref rbacv1.RoleRef, subjects []rbacv1.Subject) {
		if o.GetObjectKind().GroupVersionKind().Kind != ref.Kind+"Binding" || ref.Name != o.GetName() {
			t.Errorf("%s binds %s %s", id(o), ref.Kind, ref.Name)
		}
		if s := subjects[0]; len(subjects) != 1 || s.Kind != "ServiceAccount" || s.Namespace != "monitoring" ||
			!accounts[s.Name] {
			t.Errorf("%s binds to %v", id(o), subjects)
		}
	}
	for _, b := range of[*rbacv1.RoleBinding](all) {
		check(b, b.RoleRef, b.Subjects)
	}
	for _, b := range of[*rbacv1.ClusterRoleBinding](all) {
		check(b, b.RoleRef, b.Subjects)
	}
	roles := len(of[*rbacv1.Role](all)) + len(of[*rbacv1.ClusterRole](all))
	if bindings := len(of[*rbacv1.RoleBinding](all)) + len(of[*rbacv1.ClusterRoleBinding](all)); bindings != roles {
		t.Errorf("%d roles and %d bindings", roles, bindings)
	}
}
