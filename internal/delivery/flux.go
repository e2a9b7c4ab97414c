package delivery

import (
	"cmp"
	"encoding/json"
	"errors"
	"path"
	"strings"

	eventv1 "github.com/fluxcd/pkg/apis/event/v1beta1"
	"github.com/fluxcd/pkg/apis/meta"
)

// The keys of an Alert's eventMetadata that say what Flux does not know.
const (
	clusterKey  = "cluster"
	pipelineKey = "pipeline"
	unitKey     = "unit"
	branchKey   = "branch" // instead of that of the revision, which can be a tag
	pathKey     = "path"
)

// errNotSaid means that a genuine message says nothing about the delivery of a commit.
var errNotSaid = errors.New("the message is about something else")

// readFlux reads an event of Flux.
func readFlux(body []byte) ([]Report, error) {
	var e eventv1.Event
	if err := json.Unmarshal(body, &e); err != nil {
		return nil, errors.New("not an event of Flux") // The decoder's error could reveal the content.
	}
	object := e.InvolvedObject
	group, _, _ := strings.Cut(object.APIVersion, "/")
	state, ok := fluxState(object.Kind, e)
	if !ok {
		return nil, errNotSaid
	}
	get := func(key string) string {
		if value := e.Metadata[key]; value != "" {
			return value
		}
		return e.Metadata[group+"/"+key] // as controllers send it to notification-controller
	}
	revision := get(eventv1.MetaRevisionKey)
	commit := commitOf(revision)
	if commit == "" || object.Name == "" {
		return nil, errNotSaid
	}
	r := Report{
		Cluster: get(clusterKey), Reconciler: object.Kind + "/" + object.Namespace + "/" + object.Name,
		Pipeline: get(pipelineKey), Unit: get(unitKey), Branch: cmp.Or(get(branchKey), branchOf(revision)),
		Commit: commit, State: state, Sent: e.Timestamp.Time,
	}
	if at := get(pathKey); at != "" {
		r.Path = path.Clean(strings.TrimPrefix(at, "/"))
	}
	if state == Failed {
		r.Message = e.Message
	}
	return []Report{r.clean()}, nil
}

// fluxState returns the state that an event means. kustomize-controller sends the reason of its condition Ready, which
// is Progressing while it lists what it has applied and deleted, and when the health checks have passed: only the text
// tells these apart.
func fluxState(kind string, e eventv1.Event) (State, bool) {
	switch {
	case kind != "Kustomization" && kind != "HelmRelease":
		return "", false
	case e.Severity == eventv1.EventSeverityError:
		return Failed, true
	case e.Severity != eventv1.EventSeverityInfo:
		return "", false
	case kind == "HelmRelease":
		return helmState(e.Reason)
	case e.Reason == meta.DependencyNotReadyReason || e.Reason == meta.HealthCheckCanceledReason:
		return "", false
	case strings.HasPrefix(e.Message, "Health check passed"):
		return Healthy, true
	case e.Reason == meta.ProgressingReason || e.Reason == meta.ReconciliationSucceededReason:
		return Applied, true
	}
	return "", false
}

// helmState returns the state that a reason of helm-controller means.
func helmState(reason string) (State, bool) {
	switch reason {
	case "InstallSucceeded", "UpgradeSucceeded", "TestSucceeded", meta.ReconciliationSucceededReason:
		return Applied, true
	}
	return "", false
}
