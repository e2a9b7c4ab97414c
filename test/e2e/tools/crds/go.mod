// Where the definitions of kinds come from that Kubernetes does not have.
module github.com/agentry-dev/agentry/test/e2e/tools/crds

go 1.26.0

require (
	github.com/cert-manager/cert-manager v1.19.1
	github.com/fluxcd/source-controller v1.9.5
	github.com/prometheus-operator/prometheus-operator v0.94.1
	sigs.k8s.io/gateway-api v1.4.0
)
