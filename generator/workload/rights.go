package workload

import (
	"cmp"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/agentry-dev/agentry/generator/compile"
	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/generator/rbac"
)

// defaultAccount is the ServiceAccount that Kubernetes creates in every namespace.
const defaultAccount = "default"

// addRights adds the ServiceAccount of the pods, unless it is in the inputs or Kubernetes creates it, and the roles
// and bindings with which it can discover targets. Each GrafanaAgent has its own roles, because several can share a
// ServiceAccount.
func addRights(a grafanaAgent, out *output, config *compile.Result) {
	if a.options.HasAccount == nil {
		return
	}
	account := manifest.ID{Kind: rbacv1.ServiceAccountKind, Namespace: a.Namespace,
		Name: cmp.Or(a.spec.ServiceAccountName, defaultAccount)}
	if account.Name != defaultAccount && !a.options.HasAccount(account) {
		out.addChecked(&corev1.ServiceAccount{
			TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: rbacv1.ServiceAccountKind},
			ObjectMeta: a.meta(account.Name, managedLabels()),
		}, nil)
	}
	for _, role := range (rbac.Account{ID: account, Needs: rbac.Needs(config.All()...)}).Roles() {
		addRole(a, out, account, role)
	}
}

// addRole adds a role and its binding. The name of a namespace has no dot, so no two GrafanaAgents have a ClusterRole
// of the same name. The name of a Role includes its namespace, because all files of a unit are in one folder.
func addRole(a grafanaAgent, out *output, account manifest.ID, role rbac.Role) {
	name, kind := a.Namespace+"."+a.Name, "ClusterRole"
	if role.Namespace != "" {
		name, kind = name+"."+role.Namespace, "Role"
	}
	meta := a.meta(name, managedLabels())
	meta.Namespace = role.Namespace
	of := func(kind string) metav1.TypeMeta {
		return metav1.TypeMeta{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: kind}
	}
	ref := rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: kind, Name: name}
	subjects := []rbacv1.Subject{{Kind: account.Kind, Namespace: account.Namespace, Name: account.Name}}
	if kind == "Role" {
		out.addChecked(&rbacv1.Role{TypeMeta: of(kind), ObjectMeta: meta, Rules: role.Rules}, nil)
		out.addChecked(&rbacv1.RoleBinding{TypeMeta: of("RoleBinding"), ObjectMeta: meta, RoleRef: ref,
			Subjects: subjects}, nil)
		return
	}
	out.addChecked(&rbacv1.ClusterRole{TypeMeta: of(kind), ObjectMeta: meta, Rules: role.Rules}, nil)
	out.addChecked(&rbacv1.ClusterRoleBinding{TypeMeta: of("ClusterRoleBinding"), ObjectMeta: meta, RoleRef: ref,
		Subjects: subjects}, nil)
}
