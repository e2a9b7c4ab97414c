// Package sealed proves that agentry takes SealedSecrets as they are: it knows their keys without a value, copies them
// to the output, and pods mount what the controller of SealedSecrets makes of the copies in a real API server.
package sealed

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/agentry-dev/agentry/test/e2e/harness"
)

// cluster is that of the suite.
var cluster *harness.Cluster

func TestMain(m *testing.M) {
	harness.Main(m, func(c *harness.Cluster) {
		cluster = c
	}, harness.Agentry(), harness.SealedSecrets(), harness.Kubeseal())
}

const (
	controllers = "sealed-secrets" // the namespace of the controller

	hierarchy = `apiVersion: monitoring.grafana.com/v1alpha1
kind: GrafanaAgent
metadata: {name: agent, namespace: shop}
spec:
  serviceAccountName: agent
  metrics: {instanceSelector: {}, remoteWrite: [{url: https://mimir.example.com/api/v1/push}]}
---
apiVersion: monitoring.grafana.com/v1alpha1
kind: MetricsInstance
metadata: {name: all, namespace: shop}
spec: {serviceMonitorSelector: {}}
---
apiVersion: monitoring.coreos.com/v1
kind: ServiceMonitor
metadata: {name: web, namespace: shop}
spec:
  selector: {}
  endpoints: [{port: http, basicAuth: {username: {name: login, key: user}, password: {name: login, key: password}}}]
`
	secret = `apiVersion: v1
kind: Secret
metadata: {name: login, namespace: shop}
stringData: {user: admin, password: hunter2-hunter2}
`
)

func TestSealedSecretsAreMounted(t *testing.T) {
	applier := cluster.NewApplier(t)
	crds, err := harness.SealedSecretsCRDs()
	if err != nil {
		t.Fatal(err)
	}
	applier.MustApply(t, harness.Decode(t, crds), "CustomResourceDefinition")
	harness.Eventually(t, "the API server serves SealedSecrets", func() error { return applier.Knows("sealedsecrets") })
	cluster.OpenNamespaces(t, "shop")
	in, out := t.TempDir(), filepath.Join(t.TempDir(), "out")
	write(t, in, "hierarchy.yaml", hierarchy)
	write(t, in, "sealed.yaml", seal(t, startController(t)))

	run(t, 0, "render", "--set", "spec.passThrough.kinds={SealedSecret}", "-o", out, in)
	var set *appsv1.StatefulSet
	for _, o := range objects(t, out) {
		if err := applier.Apply(t, o, false); err != nil {
			t.Fatalf("%s %s: %v", o.GetKind(), o.GetName(), err)
		}
		if o.GetKind() == "StatefulSet" {
			set = &appsv1.StatefulSet{}
			convert(t, o, set)
		}
	}
	if set == nil {
		t.Fatal("no StatefulSet is rendered")
	}
	harness.Eventually(t, "the controller unseals the Secret", func() error { return isMounted(t, set) })

	write(t, in, "hierarchy.yaml", strings.Replace(hierarchy, "key: password", "key: passwort", 1))
	said := run(t, 0, "check", in)
	if !strings.Contains(said, "SealedSecret with the keys password, user") || strings.Contains(said, "hunter2") {
		t.Errorf("a key that the SealedSecret does not have: %s", said)
	}
}

// startController starts the controller of SealedSecrets, and returns a file with the certificate that it makes.
func startController(t *testing.T) (certificate string) {
	t.Helper()
	client := cluster.Client(t)
	cluster.OpenNamespaces(t, controllers)
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "controller"}}
	_, err := client.CoreV1().ServiceAccounts(controllers).Create(t.Context(), account, metav1.CreateOptions{})
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: controllers},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
		Subjects:   []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: controllers, Name: account.Name}},
	}
	_, bindErr := client.RbacV1().ClusterRoleBindings().Create(t.Context(), binding, metav1.CreateOptions{})
	token, tokenErr := client.CoreV1().ServiceAccounts(controllers).CreateToken(t.Context(), account.Name,
		&authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	server, hostErr := url.Parse(cluster.Config().Host)
	ca, caErr := os.ReadFile(cluster.Config().CAFile)
	if err := errors.Join(err, bindErr, tokenErr, hostErr, caErr); err != nil {
		t.Fatal(err)
	}
	files := t.TempDir()
	write(t, files, "token", token.Status.Token)
	write(t, files, "ca.crt", string(ca))
	write(t, files, "namespace", controllers)
	p, err := cluster.Contain("sealed-secrets", harness.Container{
		Tool:   harness.SealedSecrets(),
		Env:    []string{"KUBERNETES_SERVICE_HOST=" + server.Hostname(), "KUBERNETES_SERVICE_PORT=" + server.Port()},
		Mounts: map[string]string{"/var/run/secrets/kubernetes.io/serviceaccount": files},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Kill)
	certificate = filepath.Join(t.TempDir(), "cert.pem")
	harness.Eventually(t, "the controller has a key", func() error {
		keys, err := client.CoreV1().Secrets(controllers).List(t.Context(),
			metav1.ListOptions{LabelSelector: "sealedsecrets.bitnami.com/sealed-secrets-key=active"})
		if err != nil || len(keys.Items) == 0 {
			return errors.Join(err, errors.New("there is none"))
		}
		return os.WriteFile(certificate, keys.Items[0].Data[corev1.TLSCertKey], 0o600)
	})
	return certificate
}

// seal returns the SealedSecret that kubeseal makes of the Secret.
func seal(t *testing.T, certificate string) string {
	t.Helper()
	cmd := exec.Command(harness.Kubeseal().Path(), "--cert", certificate, "--format", "yaml")
	cmd.Stdin = strings.NewReader(secret)
	out, err := cmd.Output()
	if err != nil || !bytes.Contains(out, []byte("kind: SealedSecret")) {
		t.Fatalf("kubeseal: %v\n%s", err, out)
	}
	return string(out)
}

// isMounted reports whether the Secret in the cluster has the value, and each key that pods mount.
func isMounted(t *testing.T, set *appsv1.StatefulSet) error {
	t.Helper()
	live, err := cluster.Client(t).CoreV1().Secrets("shop").Get(t.Context(), "login", metav1.GetOptions{})
	if err != nil {
		return err
	}
	if string(live.Data["password"]) != "hunter2-hunter2" {
		t.Fatalf("the password is %q", live.Data["password"])
	}
	mounted := 0
	for _, v := range set.Spec.Template.Spec.Volumes {
		if v.Projected == nil {
			continue
		}
		for _, s := range v.Projected.Sources {
			if s.Secret == nil || s.Secret.Name != live.Name {
				continue
			}
			for _, item := range s.Secret.Items {
				mounted++
				if live.Data[item.Key] == nil {
					t.Fatalf("pods mount the key %s, which is not there", item.Key)
				}
			}
		}
	}
	if mounted != 2 {
		t.Fatalf("pods mount %d keys", mounted)
	}
	return nil
}

// run runs agentry, which must end with a code, and returns what it prints.
func run(t *testing.T, code int, args ...string) string {
	t.Helper()
	cmd := exec.Command(harness.Agentry().Path(), args...)
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState.ExitCode() != code {
		t.Fatalf("agentry %s: %v\n%s", args[0], err, out)
	}
	return string(out)
}

// objects are what is rendered into a folder. No byte of the password is in it.
func objects(t *testing.T, dir string) (out []*unstructured.Unstructured) {
	t.Helper()
	err := filepath.WalkDir(dir, func(file string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(file)
		if bytes.Contains(text, []byte("hunter2")) {
			t.Errorf("%s has the password", file)
		}
		if filepath.Ext(file) == ".yaml" && d.Name() != "kustomization.yaml" {
			out = append(out, harness.Decode(t, text)...)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func convert(t *testing.T, o *unstructured.Unstructured, into any) {
	t.Helper()
	text, err := json.Marshal(o)
	if err == nil {
		err = json.Unmarshal(text, into)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func write(t *testing.T, dir, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
