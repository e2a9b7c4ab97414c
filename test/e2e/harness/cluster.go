package harness

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// Cluster is an etcd and an API server. It has no controllers but those that a test asks for
// ([Cluster.Controllers]): what the others would do, tests do.
type Cluster struct {
	dir       string
	token     string // of the administrator
	etcd, api *Process
	port      int // where the API server listens, or last did
}

const (
	etcdURL = "http://127.0.0.1:2379"
	// Port is where the API server listens.
	Port = 6443
	// auditPolicy notes what service accounts do, so that tests can hold it to their rights.
	auditPolicy = `{"apiVersion": "audit.k8s.io/v1", "kind": "Policy", "omitStages": ["RequestReceived"],
"rules": [{"level": "Metadata", "userGroups": ["system:serviceaccounts"]}, {"level": "None"}]}`
)

func start(dir string) (*Cluster, error) {
	c := &Cluster{dir: dir, token: rand.Text()}
	key, err := serviceAccountKey()
	if err != nil {
		return nil, err
	}
	for name, text := range map[string]string{
		"sa.key": key, "audit-policy.json": auditPolicy, "tokens.csv": c.token + ",admin,admin,system:masters\n",
	} {
		if err := os.WriteFile(c.file(name), []byte(text), 0o600); err != nil {
			return nil, err
		}
	}
	c.etcd, err = launch(dir, "etcd", Etcd().Path(), "--name=e2e", "--data-dir="+c.file("etcd"), "--unsafe-no-fsync",
		"--log-level=warn",
		"--listen-client-urls="+etcdURL, "--advertise-client-urls="+etcdURL, "--listen-peer-urls=http://127.0.0.1:2380",
		"--initial-advertise-peer-urls=http://127.0.0.1:2380", "--initial-cluster=e2e=http://127.0.0.1:2380")
	if err != nil {
		return nil, err
	}
	return c, c.StartAPI(Port)
}

func (c *Cluster) file(name string) string { return filepath.Join(c.dir, name) }

func serviceAccountKey() (string, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return "", err
	}
	der, err := x509.MarshalECPrivateKey(key)
	return string(pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der})), err
}

// StartAPI starts the API server at a port, if it is not there, and waits until it is ready.
func (c *Cluster) StartAPI(port int) error {
	if c.api != nil && c.port == port && c.api.alive() == nil {
		return nil
	}
	c.port = port
	var err error
	c.api, err = launch(c.dir, "kube-apiserver", APIServer().Path(), "--etcd-servers="+etcdURL,
		"--bind-address=127.0.0.1", "--advertise-address=127.0.0.1",
		fmt.Sprintf("--secure-port=%d", port), "--cert-dir="+c.file("certs"),
		"--service-cluster-ip-range=10.96.0.0/16,fd96::/112",
		"--authorization-mode=RBAC", "--token-auth-file="+c.file("tokens.csv"),
		"--service-account-issuer=https://kubernetes.default.svc",
		"--service-account-key-file="+c.file("sa.key"), "--service-account-signing-key-file="+c.file("sa.key"),
		"--allow-privileged=true", // As everywhere: agents that read logs are privileged.
		"--audit-policy-file="+c.file("audit-policy.json"), "--audit-log-path="+c.file("audit.log"),
		"--endpoint-reconciler-type=none", // It would publish a loopback address, which it does not take.
		"--v=1")
	if err != nil {
		return err
	}
	return within(patience, func() error {
		if err := errors.Join(c.etcd.alive(), c.api.alive()); err != nil {
			return err
		}
		client, err := kubernetes.NewForConfig(c.configAt(port))
		if err != nil {
			return err // The certificate is not made yet.
		}
		return client.Discovery().RESTClient().Get().AbsPath("/readyz").Do(context.Background()).Error()
	})
}

// Controllers runs controllers of Kubernetes, by the names that kube-controller-manager has for
// them, until the test ends. They know the kinds that the API server serves by now; of others the
// garbage collector hears within half a minute.
func (c *Cluster) Controllers(t *testing.T, names ...string) *Process {
	t.Helper()
	return c.Launch(t, "kube-controller-manager", ControllerManager(), "--kubeconfig="+c.AdminKubeconfig(t),
		"--leader-elect=false",
		"--secure-port=0", // Nobody asks it anything.
		"--kube-api-qps=1000", "--kube-api-burst=1000", "--controllers="+strings.Join(names, ","))
}

// KillAPI ends the API server the hard way.
func (c *Cluster) KillAPI() { c.api.Kill() }

// Config is the administrator's way to the API server.
func (c *Cluster) Config() *rest.Config { return c.configAt(Port) }

func (c *Cluster) configAt(port int) *rest.Config {
	return &rest.Config{
		Host: fmt.Sprintf("https://127.0.0.1:%d", port), BearerToken: c.token, QPS: -1,
		WarningHandlerWithContext: rest.NoWarnings{}, // Of every look at Endpoints.
		TLSClientConfig:           rest.TLSClientConfig{CAFile: c.file("certs/apiserver.crt")},
	}
}

// explain shows the end of the servers' logs.
func (c *Cluster) explain() {
	for _, p := range []*Process{c.etcd, c.api} {
		fmt.Printf("e2e: %s says, at the end:\n%s", p.name, p.tail())
	}
}

func (c *Cluster) remove() int {
	c.api.Kill()
	c.etcd.Kill()
	if err := os.RemoveAll(c.dir); err != nil {
		fmt.Fprintln(os.Stderr, "e2e:", err)
		return 1
	}
	return 0
}
