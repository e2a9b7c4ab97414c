package validity

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/agentry-dev/agentry/test/e2e/harness"
)

// TestRights: with the roles and bindings that agentry rbac prints, the authorizer of the API server allows what their
// rules say, and agentry check misses nothing. Without one of the rules both say no.
func TestRights(t *testing.T) {
	for _, in := range []input{
		{"quickstart", glob(t, "examples/quickstart")},
		{"platform", glob(t, "examples/platform")},
		{"cloud", glob(t, "test/conformance/operator/real-cloud-quickstart/input.yaml")},
		{"permissions", []string{unpack(t, filepath.Join(harness.Root(), "generator/testdata/permissions.txtar"))}},
	} {
		t.Run(in.name, func(t *testing.T) { rights(t, in) })
	}
}

func rights(t *testing.T, in input) {
	args := append([]string{"rbac", "--no-pipeline"}, in.paths...)
	out, err := exec.Command(harness.Agentry().Path(), args...).Output()
	if err != nil {
		t.Fatal(err)
	}
	objects := harness.Decode(t, out)
	applier := cluster.NewApplier(t)
	for _, o := range objects {
		if o.GetNamespace() != "" {
			cluster.OpenNamespaces(t, o.GetNamespace())
		}
		if err := applier.Apply(t, o, false); err != nil {
			t.Fatal(err)
		}
	}
	var bindings []*unstructured.Unstructured
	count := 0
	for _, o := range objects {
		if strings.HasSuffix(o.GetKind(), "Binding") {
			bindings = append(bindings, o)
		}
	}
	for _, o := range objects {
		if o.GetKind() != "Role" && o.GetKind() != "ClusterRole" {
			continue
		}
		subject := subjectOf(t, o, bindings)
		for i, rule := range rulesOf(t, o) {
			count++
			asks(t, subject, o.GetNamespace(), rule, true)
			less := o.DeepCopy()
			rules := less.Object["rules"].([]any)
			less.Object["rules"] = append(append([]any{}, rules[:i]...), rules[i+1:]...)
			if err := applier.Apply(t, less, false); err != nil {
				t.Fatal(err)
			}
			asks(t, subject, o.GetNamespace(), rule, false)
			if watches := rule.Verbs[0] == "list"; misses(t, in, objects, less) != watches {
				t.Errorf("without rule %d of %s %s, agentry check misses something: %v", i, o.GetKind(), o.GetName(),
					!watches)
			}
			if err := applier.Apply(t, o, false); err != nil {
				t.Fatal(err)
			}
		}
	}
	if count < 2 || misses(t, in, objects, nil) {
		t.Errorf("of %d rules something is missed", count)
	}
}

func rulesOf(t *testing.T, role *unstructured.Unstructured) []rbacv1.PolicyRule {
	t.Helper()
	var r rbacv1.ClusterRole
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(role.Object, &r); err != nil {
		t.Fatal(err)
	}
	return r.Rules
}

// subjectOf is the ServiceAccount to which a role is bound.
func subjectOf(t *testing.T, role *unstructured.Unstructured, bindings []*unstructured.Unstructured) rbacv1.Subject {
	t.Helper()
	for _, o := range bindings {
		var b rbacv1.ClusterRoleBinding
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, &b); err != nil {
			t.Fatal(err)
		}
		if b.RoleRef.Kind == role.GetKind() && b.RoleRef.Name == role.GetName() &&
			o.GetNamespace() == role.GetNamespace() {
			return b.Subjects[0]
		}
	}
	t.Fatalf("nobody has %s %s", role.GetKind(), role.GetName())
	return rbacv1.Subject{}
}

// asks waits until the authorizer allows everything of a rule, or nothing.
func asks(t *testing.T, who rbacv1.Subject, namespace string, rule rbacv1.PolicyRule, want bool) {
	t.Helper()
	review := authorizationv1.SubjectAccessReviewSpec{
		User:   "system:serviceaccount:" + who.Namespace + ":" + who.Name,
		Groups: []string{"system:serviceaccounts", "system:serviceaccounts:" + who.Namespace, "system:authenticated"},
	}
	one := func(what string) {
		harness.Eventually(t, "the authorizer decides "+what, func() error {
			answer, err := cluster.Client(t).AuthorizationV1().SubjectAccessReviews().Create(t.Context(),
				&authorizationv1.SubjectAccessReview{Spec: review}, metav1.CreateOptions{})
			if err == nil && answer.Status.Allowed != want {
				err = errors.New("it is not so yet")
			}
			return err
		})
	}
	for _, verb := range rule.Verbs {
		for _, url := range rule.NonResourceURLs {
			review.NonResourceAttributes = &authorizationv1.NonResourceAttributes{Path: url, Verb: verb}
			one(verb + " " + url)
		}
		for _, name := range rule.Resources {
			resource, sub, _ := strings.Cut(name, "/")
			review.ResourceAttributes = &authorizationv1.ResourceAttributes{Namespace: namespace,
				Group: rule.APIGroups[0], Resource: resource, Subresource: sub, Verb: verb}
			one(verb + " " + name)
		}
	}
}

// misses reports whether agentry check misses a right, with these objects in place of the input's own rights. less
// replaces one of them.
func misses(t *testing.T, in input, objects []*unstructured.Unstructured, less *unstructured.Unstructured) bool {
	t.Helper()
	var text strings.Builder
	for _, o := range objects {
		if less != nil && less.GetKind() == o.GetKind() && less.GetName() == o.GetName() &&
			less.GetNamespace() == o.GetNamespace() {
			o = less
		}
		data, err := yaml.Marshal(o.Object)
		if err != nil {
			t.Fatal(err)
		}
		text.WriteString("---\n" + string(data))
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "rights.yaml"), []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	paths := []string{filepath.Join(dir, "rights.yaml")}
	for _, p := range in.paths {
		paths = append(paths, withoutRights(t, p)...)
	}
	out, err := exec.Command(harness.Agentry().Path(),
		append([]string{"check", "--no-pipeline"}, paths...)...).CombinedOutput()
	//nolint:errorlint // of this very command
	if exit, ok := err.(*exec.ExitError); err != nil && (!ok || exit.ExitCode() > 1) {
		t.Fatalf("%v\n%s", err, out)
	}
	return strings.Contains(string(out), "[missing-permission]")
}

// withoutRights are the manifests at a path, without those of the input's own rights.
func withoutRights(t *testing.T, root string) (files []string) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() && filepath.Ext(path) == ".yaml" && d.Name() != "rbac.yaml" &&
			d.Name() != "pipeline.yaml" {
			files = append(files, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}
