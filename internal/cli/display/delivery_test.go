package display

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/agentry-dev/agentry/internal/delivery"
	"github.com/agentry-dev/agentry/internal/server"
)

// TestDelivery: a pipeline has a line for each reconciler.
func TestDelivery(t *testing.T) {
	after := metav1.Duration{Duration: 41300 * time.Millisecond}
	s := server.Pipeline{Delivery: &delivery.Status{Clusters: 3, Applied: 1, Failed: 1, Rows: []delivery.Row{
		{Cluster: "eu", Reconciler: "Kustomization/flux-system/a", State: delivery.Healthy, AppliedAfter: &after,
			HealthyAfter: &after},
		{Cluster: "us", Reconciler: "Application/argocd/a", Unit: "shop/agent", State: delivery.Failed,
			Message: "it is broken", Current: "0123456789abcdef"},
		{Reconciler: "Kustomization/flux-system/b", State: delivery.Pushed},
	}}}
	var out strings.Builder
	if err := Details(&out, s); err != nil {
		t.Fatal(err)
	}
	want := `in     applied in 1 of 3 clusters, failed in us
       eu Kustomization/flux-system/a healthy after 41s
       us Application/argocd/a failed shop/agent, has 01234567: it is broken
       a cluster without a name Kustomization/flux-system/b pushed
`
	if out.String() != want {
		t.Errorf("got\n%swant\n%s", out.String(), want)
	}
}
