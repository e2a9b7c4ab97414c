package harness

import "path/filepath"

// ArgoCD is all programs of Argo CD in one: which of them it is ARGOCD_BINARY_NAME says.
func ArgoCD() Tool {
	t := ofArgoCD("argocd", argoModule+"/cmd")
	t.reads = argoModule
	return t
}

const argoModule = "github.com/argoproj/argo-cd/v3"

// Kustomize is what Argo CD builds folders with.
func Kustomize() Tool { return ofArgoCD("kustomize", "sigs.k8s.io/kustomize/kustomize/v5") }

// Redis is a stand-in for Argo CD's cache.
func Redis() Tool { return ofArgoCD("redis", "./redis") }

func ofArgoCD(name, pkg string) Tool {
	return Tool{name: name, dir: "test/e2e/tools/argocd", pkg: pkg, ldflags: "-s -w"}
}

// ArgoCDCRDs are the custom resource definitions of Argo CD, as a YAML stream, and what lists them.
func ArgoCDCRDs() ([]byte, error) {
	dir, err := ArgoCD().module(argoModule)
	if err != nil {
		return nil, err
	}
	return stream(filepath.Join(dir, "manifests", "crds"))
}
