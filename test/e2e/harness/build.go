package harness

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// KubernetesVersion is what the API server calls itself; that of tools/kubernetes.
const KubernetesVersion = "v1.37.2"

// Tool is a program that is built before a suite runs, or modules that are fetched.
type Tool struct {
	name string
	// dir is the folder, in the repository, of the module that says which version.
	dir string
	// pkg is the package of the program; without it the module is only fetched.
	pkg     string
	tags    string
	ldflags string
	// reads is a module of which suites read files: it is fetched although the program is there.
	reads string
	// sum is the hash of a module that is fetched by itself, as go.sum would have it. name is that module at a version.
	sum string
	// file is where the program is if not in the cache: below the folder of all tests' programs.
	file string
}

// Etcd is the API server's store.
func Etcd() Tool {
	return Tool{name: "etcd", dir: "test/e2e/tools/etcd", pkg: "go.etcd.io/etcd/server/v3", ldflags: "-s -w"}
}

// APIServer is kube-apiserver.
func APIServer() Tool { return ofKubernetes("kube-apiserver") }

// ControllerManager is kube-controller-manager, for [Cluster.Controllers].
func ControllerManager() Tool { return ofKubernetes("kube-controller-manager") }

// Kubectl is kubectl.
func Kubectl() Tool { return ofKubernetes("kubectl") }

// ofKubernetes is a program of tools/kubernetes, which says its version when it is asked.
func ofKubernetes(name string) Tool {
	flags := []string{"-s", "-w"}
	for _, pkg := range []string{"k8s.io/component-base/version", "k8s.io/client-go/pkg/version"} {
		major, rest, _ := strings.Cut(strings.TrimPrefix(KubernetesVersion, "v"), ".")
		minor, _, _ := strings.Cut(rest, ".")
		for _, value := range []string{"gitVersion=" + KubernetesVersion, "gitMajor=" + major, "gitMinor=" + minor,
			"gitCommit=0", "gitTreeState=clean", "buildDate=2026-01-01T00:00:00Z"} {
			flags = append(flags, "-X", pkg+"."+value)
		}
	}
	return Tool{name: name, dir: "test/e2e/tools/kubernetes", pkg: "k8s.io/kubernetes/cmd/" + name,
		ldflags: strings.Join(flags, " ")}
}

// Helm is Helm's command line. As the one that is released does, it takes a cluster that it does not
// ask for one of today.
func Helm() Tool {
	const flag = " -X helm.sh/helm/v3/pkg/chartutil.k8sVersion"
	major, rest, _ := strings.Cut(strings.TrimPrefix(KubernetesVersion, "v"), ".")
	minor, _, _ := strings.Cut(rest, ".")
	return Tool{name: "helm", dir: "test/e2e/tools/helm", pkg: "helm.sh/helm/v3/cmd/helm",
		ldflags: "-s -w" + flag + "Major=" + major + flag + "Minor=" + minor}
}

// KustomizeController is Flux's controller that applies what is in a repository.
func KustomizeController() Tool { return ofFlux("kustomize-controller") }

// NotificationController is Flux's controller that is called after pushes, and hands events on.
func NotificationController() Tool { return ofFlux("notification-controller") }

func ofFlux(name string) Tool {
	module := "github.com/fluxcd/" + name
	return Tool{name: name, dir: "test/e2e/tools/flux", pkg: module, reads: module, ldflags: "-s -w"}
}

// Aggregator is the sd-aggregator of this checkout.
func Aggregator() Tool {
	return Tool{name: "sd-aggregator", dir: ".", pkg: "./cmd/sd-aggregator"}
}

// Agentry is the command line of this checkout.
func Agentry() Tool { return Tool{name: "agentry", dir: ".", pkg: "./cmd/agentry"} }

// Builds prints the objects that agentry reads in a repository.
func Builds() Tool { return Tool{name: "builds", dir: ".", pkg: "./test/builds"} }

// AgentrySOPS is the program beside agentry that decrypts and encrypts.
func AgentrySOPS() Tool { return Tool{name: "agentry-sops", dir: ".", pkg: "./cmd/agentry-sops"} }

// SOPS is SOPS's command line.
func SOPS() Tool {
	return Tool{name: "sops", dir: "test/e2e/tools/sops", pkg: "github.com/getsops/sops/v3/cmd/sops", ldflags: "-s -w"}
}

// SealedSecrets is the controller of SealedSecrets; [SealedSecretsCRDs] reads its definitions.
func SealedSecrets() Tool { return ofSealedSecrets("controller", "sealed-secrets") }

// Kubeseal seals Secrets for the controller.
func Kubeseal() Tool { return ofSealedSecrets("kubeseal", "kubeseal") }

const sealedSecrets = "github.com/bitnami-labs/sealed-secrets"

func ofSealedSecrets(command, name string) Tool {
	return Tool{name: name, dir: "test/e2e/tools/sealedsecrets", pkg: sealedSecrets + "/cmd/" + command,
		reads: sealedSecrets, ldflags: "-s -w"}
}

// isolated runs a suite in namespaces of its own.
func isolated() Tool { return Tool{name: "isolated", dir: ".", pkg: "./test/isolate/isolated"} }

// Validate is Kubernetes' own decoding and validation as a program, of tools/kubernetes.
func Validate() Tool {
	return Tool{name: "validate", dir: "test/e2e/tools/kubernetes", pkg: "./validate", ldflags: "-s -w"}
}

// Agent is the Grafana Agent, the very file that the tests of agentcheck run: linking it takes
// longer than a suite.
func Agent() Tool {
	return Tool{name: "grafana-agent", dir: "test/agentcheck", pkg: "github.com/grafana/agent/cmd/grafana-agent",
		tags: "netgo,slicelabels", ldflags: "-s -w", file: "grafana-agent"}
}

// Reloader is the config reloader, the other container of an agent's pod.
func Reloader() Tool {
	return Tool{name: "reloader", dir: "test/e2e/tools/reloader",
		pkg: "github.com/prometheus-operator/prometheus-operator/cmd/prometheus-config-reloader", ldflags: "-s -w"}
}

// Prometheus is the one that is installed, or Debian's, which make prometheus-deps fetches.
func Prometheus() Tool {
	if installed, err := exec.LookPath("prometheus"); err == nil {
		return Tool{name: "prometheus", file: installed}
	}
	return Tool{name: "prometheus", file: "prometheus/usr/bin/prometheus"}
}

// CRDs are the modules whose custom resource definitions [CRDFile] finds.
func CRDs() Tool { return Tool{name: "crds", dir: "test/e2e/tools/crds"} }

// ExternalSecrets is the module of the External Secrets Operator; [ExternalSecretsCRDs] reads its definitions. No
// module can require it, and its controller cannot be built from the proxy: it requires modules of its repository at
// v0.0.0, which it replaces by folders, and a module has no folders of other modules.
func ExternalSecrets() Tool {
	return Tool{name: "github.com/external-secrets/external-secrets@v1.3.2",
		sum: "h1:u2J8RjlHIeF0oZCqtl92adI/uZWUwOesJIDkfql6LqQ="}
}

// Operator is the module of the Grafana Agent Operator; [OperatorCRDs] reads its definitions.
func Operator() Tool { return Tool{name: "operator", dir: "test/e2e/tools/operator"} }

// Path is where the program is.
func (t Tool) Path() string {
	switch {
	case filepath.IsAbs(t.file):
		return t.file
	case t.file != "":
		return filepath.Join(filepath.Dir(cache()), filepath.FromSlash(t.file))
	}
	return filepath.Join(cache(), t.name)
}

// cache is the user's: linking an API server takes longer than most tests.
func cache() string {
	dir, err := os.UserCacheDir()
	if err != nil {
		dir = os.TempDir()
	}
	return filepath.Join(dir, "agentry-test", "e2e")
}

// build builds what is out of date, and says how long that took.
func build(tools []Tool) error {
	if err := os.MkdirAll(cache(), 0o700); err != nil {
		return err
	}
	lock, err := os.OpenFile(filepath.Join(cache(), "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	defer lock.Close()
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil { // Suites may be built at the same time.
		return err
	}
	for _, t := range tools {
		began := time.Now()
		if err := t.build(); err != nil {
			return fmt.Errorf("build %s: %w", t.name, err)
		}
		fmt.Printf("e2e: %-15s %6.1fs %s\n", t.name, time.Since(began).Seconds(), t.size())
	}
	return nil
}

func (t Tool) build() error {
	switch {
	case t.sum != "":
		_, err := t.fetch()
		return err
	case t.dir == "":
		if _, err := os.Stat(t.Path()); err != nil {
			return fmt.Errorf("make prometheus-deps fetches it: %w", err)
		}
		return nil
	case t.pkg == "":
		return t.run("mod", "download")
	case t.reads != "":
		if err := t.run("mod", "download", t.reads); err != nil {
			return err
		}
	}
	if t.isOthers() {
		return t.buildOthers()
	}
	return t.compile()
}

func (t Tool) compile() error {
	return t.run("build", "-buildvcs=false", "-tags", t.tags, "-ldflags", t.ldflags, "-o", t.Path(), t.pkg)
}

// run runs Go in the tool's module.
func (t Tool) run(arguments ...string) error {
	command := exec.Command("go", arguments...)
	command.Dir = filepath.Join(Root(), t.dir)
	if out, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("%w\n%s", err, out)
	}
	return nil
}

func (t Tool) size() string {
	info, err := os.Stat(t.Path())
	if err != nil {
		return ""
	}
	return fmt.Sprintf("%5d MiB", info.Size()>>20)
}

// CRDFile reads a file of one of the modules of [CRDs].
func CRDFile(module, path string) ([]byte, error) {
	dir, err := CRDs().module(module)
	if err != nil {
		return nil, err
	}
	return os.ReadFile(filepath.Join(dir, path))
}

// OperatorCRDs are the custom resource definitions that the operator ships, as a YAML stream.
func OperatorCRDs() ([]byte, error) {
	dir, err := Operator().module("github.com/grafana/agent")
	if err != nil {
		return nil, err
	}
	return stream(filepath.Join(dir, "operations", "agent-static-operator", "crds"))
}

// ExternalSecretsCRDs are the custom resource definitions of ExternalSecrets and SecretStores, as a YAML stream.
func ExternalSecretsCRDs() ([]byte, error) {
	dir, err := ExternalSecrets().fetch()
	if err != nil {
		return nil, err
	}
	return stream(filepath.Join(dir, "config", "crds", "bases"), "external-secrets.io_externalsecrets.yaml",
		"external-secrets.io_secretstores.yaml")
}

// SealedSecretsCRDs are the custom resource definitions of SealedSecrets, as a YAML stream.
func SealedSecretsCRDs() ([]byte, error) {
	dir, err := SealedSecrets().module(sealedSecrets)
	if err != nil {
		return nil, err
	}
	return stream(filepath.Join(dir, "helm", "sealed-secrets", "crds"))
}

// FluxCRDs are the custom resource definitions of Flux, as a YAML stream. They need [CRDs].
func FluxCRDs() ([]byte, error) {
	var all []byte
	for module, tool := range map[string]Tool{
		"github.com/fluxcd/kustomize-controller":    KustomizeController(),
		"github.com/fluxcd/notification-controller": NotificationController(),
		"github.com/fluxcd/source-controller":       CRDs(),
	} {
		dir, err := tool.module(module)
		if err != nil {
			return nil, err
		}
		text, err := stream(filepath.Join(dir, "config", "crd", "bases"))
		if err != nil {
			return nil, err
		}
		all = append(all, text...)
	}
	return all, nil
}

// stream makes one YAML stream of a folder's files, of all or of some.
func stream(dir string, names ...string) ([]byte, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.yaml"))
	if len(names) > 0 {
		files = slices.DeleteFunc(files, func(file string) bool { return !slices.Contains(names, filepath.Base(file)) })
	}
	if err != nil || len(files) == 0 {
		return nil, fmt.Errorf("no YAML in %s: %w", dir, err)
	}
	var all []byte
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		all = append(append(all, "---\n"...), text...)
	}
	return all, nil
}

// module is the folder of a module that was fetched.
func (t Tool) module(path string) (dir string, err error) {
	list := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", path)
	list.Dir = filepath.Join(Root(), t.dir)
	list.Env = append(os.Environ(), "GOPROXY=off")
	out, err := list.Output()
	if err != nil {
		return "", fmt.Errorf("find %s: %w", path, err)
	}
	return strings.TrimSpace(string(out)), nil
}

// fetch fetches a module by itself, and returns its folder.
func (t Tool) fetch() (dir string, err error) {
	command := exec.Command("go", "mod", "download", "-json", t.name)
	command.Dir = Root()
	out, err := command.Output()
	var module struct{ Dir, Sum, Error string }
	if err := errors.Join(err, json.Unmarshal(out, &module)); err != nil {
		return "", fmt.Errorf("fetch %s: %w %s", t.name, err, module.Error)
	}
	if module.Sum != t.sum {
		return "", fmt.Errorf("%s has the hash %s, not %s", t.name, module.Sum, t.sum)
	}
	return module.Dir, nil
}
