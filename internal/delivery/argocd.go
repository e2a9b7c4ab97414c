package delivery

import (
	"cmp"
	"encoding/json"
	"errors"
	"path"
	"strings"
	"time"

	"github.com/agentry-dev/agentry/gitsync/pipeline"
)

// maxSources limits the sources of an Application.
const maxSources = 16

// minShortCommit is the shortest beginning of a commit id that Argo CD takes for one.
const minShortCommit = 7

// application is the message of Argo CD's notifications, by the template that package scaffold has.
type application struct {
	Application string `json:"application"`
	Namespace   string `json:"namespace"`
	// Cluster is the name of the cluster that Argo CD runs in.
	Cluster     string `json:"cluster"`
	Destination struct {
		Name   string `json:"name"`
		Server string `json:"server"`
	} `json:"destination"`
	Sources []struct {
		Repository string `json:"repository"`
		Branch     string `json:"branch"`
		Path       string `json:"path"`
	} `json:"sources"`
	// Revisions are those that the cluster was compared with, one for each source.
	Revisions []string `json:"revisions"`
	Sync      string   `json:"sync"`
	Health    struct {
		Status  string `json:"status"`
		Message string `json:"message"`
	} `json:"health"`
	Operation struct {
		Phase   string `json:"phase"`
		Message string `json:"message"`
		// Finished is set while the phase is Running if an attempt has failed, and another one follows.
		Finished  bool     `json:"finished"`
		Revisions []string `json:"revisions"`
	} `json:"operation"`
	// Errors are the messages of conditions that are errors, such as that the manifests cannot be made.
	Errors []string  `json:"errors"`
	Time   time.Time `json:"time"`
}

// readArgoCD reads the state of an Application.
func readArgoCD(body []byte) ([]Report, error) {
	var a application
	if err := json.Unmarshal(body, &a); err != nil {
		return nil, errors.New("not a message of the template for Argo CD") // The error could reveal the content.
	}
	var out []Report
	for i, source := range a.Sources[:min(len(a.Sources), maxSources)] {
		commit, state, message := a.outcome(i)
		if state == "" || a.Application == "" {
			continue
		}
		r := Report{
			Cluster: a.cluster(), Reconciler: "Application/" + a.Namespace + "/" + a.Application,
			Repository: pipeline.RepositoryAddress(source.Repository),
			Branch:     targetBranch(source.Branch), Path: path.Clean(source.Path),
			Commit: commit, State: state, Message: message, Sent: a.Time,
		}
		out = append(out, r.clean())
	}
	if len(out) == 0 {
		return nil, errNotSaid
	}
	return out, nil
}

// targetBranch returns the branch that a targetRevision names, or nothing: it can be a commit, or that of the default
// branch. A tag looks like a branch.
func targetBranch(revision string) string {
	if revision == "HEAD" || isHex(revision) && len(revision) >= minShortCommit {
		return ""
	}
	return strings.TrimPrefix(revision, "refs/heads/")
}

// outcome returns how far a source has come. The state is empty if nothing is known yet.
func (a application) outcome(source int) (commit string, state State, message string) {
	at := func(revisions []string) string {
		if source < len(revisions) {
			return commitOf(revisions[source])
		}
		return ""
	}
	compared, operated := at(a.Revisions), at(a.Operation.Revisions)
	isSynced := a.Sync == "Synced" && compared != ""
	hasFailed := a.hasFailed() && operated != ""
	switch {
	case hasFailed && operated == compared:
		return operated, Failed, a.Operation.Message
	case isSynced && a.Health.Status == "Healthy":
		return compared, Healthy, ""
	case isSynced && a.Health.Status == "Degraded":
		return compared, Failed, cmp.Or(a.Health.Message, "health: Degraded")
	case isSynced:
		return compared, Applied, ""
	case len(a.Errors) > 0:
		return compared, Failed, a.Errors[0]
	case hasFailed:
		return operated, Failed, a.Operation.Message
	}
	return "", "", ""
}

// hasFailed reports whether the last attempt to sync has failed.
func (a application) hasFailed() bool {
	switch a.Operation.Phase {
	case "Failed", "Error":
		return true
	case "Running":
		return a.Operation.Finished
	}
	return false
}

// cluster returns the name of the cluster of the objects. Every Argo CD calls its own cluster the same.
func (a application) cluster() string {
	name := cmp.Or(a.Destination.Name, a.Destination.Server)
	if a.Cluster != "" && (name == "in-cluster" || name == "https://kubernetes.default.svc") {
		return a.Cluster
	}
	return name
}
