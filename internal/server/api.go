package server

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
	"unicode"

	"github.com/fluxcd/pkg/apis/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/gitsync/fleet"
	"github.com/agentry-dev/agentry/internal/delivery"
)

const (
	maxRequestBytes = 4 << 10
	maxTokenBytes   = 256
)

// Pipelines is the response of GET /api/v1/pipelines.
type Pipelines struct {
	Version string     `json:"version"`
	Items   []Pipeline `json:"items"`
	// Problems are errors in the configuration. Pipelines that were running continue to run.
	Problems diag.List `json:"problems"`
}

// Pipeline is the response of GET /api/v1/pipelines/NAME.
type Pipeline struct {
	fleet.Status
	// Delivery is how far the newest commit has come in clusters. Nil if none has reported about the pipeline.
	Delivery *delivery.Status `json:"delivery,omitempty"`
}

// Remotes is the response of GET /api/v1/remotes.
type Remotes struct {
	Items []fleet.RemoteStatus `json:"items"`
}

// Reconcile requests a pass, and is also the response. RequestedAt is the token that the status repeats as
// lastHandledReconcileAt. Default: the current time.
type Reconcile struct {
	RequestedAt string `json:"requestedAt"`
}

// Problem is the response to a failed request.
type Problem struct {
	Error string `json:"error"`
	// Hint is the remedy.
	Hint string `json:"hint,omitempty"`
}

func (a *admin) listPipelines(w http.ResponseWriter, _ *http.Request) {
	out := Pipelines{Version: a.Version, Items: []Pipeline{}, Problems: a.Fleet.Problems()}
	for _, s := range a.Fleet.Status() {
		out.Items = append(out.Items, a.pipeline(s))
	}
	answer(w, http.StatusOK, out)
}

func (a *admin) getPipeline(w http.ResponseWriter, r *http.Request) {
	status, ok := a.Fleet.Pipeline(r.PathValue("name"))
	if !ok {
		answer(w, http.StatusNotFound, Problem{Error: "no such pipeline"})
		return
	}
	answer(w, http.StatusOK, a.pipeline(status))
}

func (a *admin) pipeline(s fleet.Status) Pipeline {
	out := Pipeline{Status: s}
	if d, ok := a.Delivery.Status(s.Name); ok {
		out.Delivery = &d
	}
	return out
}

func (a *admin) listRemotes(w http.ResponseWriter, _ *http.Request) {
	out := Remotes{Items: a.Fleet.Remotes()}
	if out.Items == nil {
		out.Items = []fleet.RemoteStatus{}
	}
	answer(w, http.StatusOK, out)
}

func (a *admin) reconcile(w http.ResponseWriter, r *http.Request) {
	status, ok := a.Fleet.Pipeline(r.PathValue("name"))
	switch {
	case !ok:
		answer(w, http.StatusNotFound, Problem{Error: "no such pipeline"})
	case status.Suspended:
		answer(w, http.StatusConflict, Problem{Error: "the pipeline is suspended"})
	default:
		a.trigger(w, r, status.Name)
	}
}

func (a *admin) reconcileAll(w http.ResponseWriter, r *http.Request) { a.trigger(w, r, "") }

func (a *admin) trigger(w http.ResponseWriter, r *http.Request, pipeline string) {
	request, err := readReconcile(http.MaxBytesReader(w, r.Body, maxRequestBytes))
	if err != nil {
		answer(w, http.StatusBadRequest, Problem{Error: err.Error()})
		return
	}
	request.RequestedAt = a.ask(r, pipeline, request.RequestedAt)
	answer(w, http.StatusAccepted, request)
}

// ask requests a pass of a pipeline, or of all, and returns the token that the status repeats.
func (a *admin) ask(r *http.Request, pipeline, token string) string {
	if token == "" {
		token = time.Now().UTC().Format(time.RFC3339Nano)
	}
	log := a.Log
	if name := who(r).User; name != "" {
		log = log.With("user", name)
	}
	log.Info("asked to reconcile", "pipeline", pipeline, "requestedAt", token)
	a.Trigger(fleet.Trigger{Pipeline: pipeline, Reason: fleet.ReasonAPI, Token: token})
	return token
}

// readReconcile decodes a request. Its body may be empty.
func readReconcile(body io.Reader) (Reconcile, error) {
	var request Reconcile
	decoder := json.NewDecoder(body)
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&request); errors.Is(err, io.EOF) {
		return request, nil
	} else if err != nil {
		return request, errors.New(`the body must be {"requestedAt": "..."}`)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return request, errors.New("the body has more than one value")
	}
	if len(request.RequestedAt) > maxTokenBytes || strings.ContainsFunc(request.RequestedAt, func(r rune) bool {
		return !unicode.IsPrint(r)
	}) {
		return request, fmt.Errorf("requestedAt must be printable, and no longer than %d bytes", maxTokenBytes)
	}
	return request, nil
}

func answer(w http.ResponseWriter, status int, value any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	_ = encoder.Encode(value) // fails only if the client has gone
}

// untried counts the pipelines of this replica that have not finished a pass.
func untried(all []fleet.Status) int {
	n := 0
	for _, s := range all {
		ready := s.Condition(meta.ReadyCondition)
		unknown := ready == nil || ready.Status == metav1.ConditionUnknown && ready.Reason == meta.ProgressingReason
		if s.Owned && !s.Suspended && unknown {
			n++
		}
	}
	return n
}

func amount(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
