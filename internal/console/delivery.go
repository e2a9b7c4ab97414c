package console

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/agentry-dev/agentry/internal/delivery"
)

// clusters is the part of a page about how far a commit has come.
type clusters struct {
	frame
	delivery.Status
}

// Clusters returns that part of the page.
func (p pipelinePage) Clusters() clusters { return clusters{p.frame, *p.Delivery} }

// deliveryClass returns the CSS class of a state in a cluster.
func deliveryClass(s delivery.State) string {
	switch s {
	case delivery.Applied, delivery.Healthy:
		return "good"
	case delivery.Failed:
		return "bad"
	case delivery.Pushed:
		return "warn"
	}
	return "pale"
}

// after returns the time that something took, or nothing if that is unknown.
func after(d *metav1.Duration) string {
	if d == nil {
		return ""
	}
	return d.Round(time.Second).String()
}
