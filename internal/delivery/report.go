package delivery

import (
	"strings"
	"time"

	"github.com/agentry-dev/agentry/gitsync/committext"
)

// State is how far a commit has come in a cluster.
type State string

// The states.
const (
	Pushed     State = "pushed"     // the reconciler has not reported about the commit
	Superseded State = "superseded" // the reconciler has applied a later commit
	Applied    State = "applied"
	Healthy    State = "healthy" // applied, and the objects are ready
	Failed     State = "failed"
)

// Limits of the texts in a report, in bytes.
const (
	maxNameBytes    = 256
	maxMessageBytes = 400
)

// Report is what a reconciler says about a commit. Its texts may come from anywhere.
type Report struct {
	// Cluster is where the objects are; empty if the reconciler does not say. Reconciler is the object that applies
	// them, as KIND/namespace/name.
	Cluster    string `json:"cluster,omitempty"`
	Reconciler string `json:"reconciler"`
	// Pipeline and Unit are what the reconciler applies; empty if it does not say.
	Pipeline string `json:"pipeline,omitempty"`
	Unit     string `json:"unit,omitempty"`
	// Repository, Branch and Path are where it reads; empty if it does not say. What it says must be the place of the
	// pipeline's output: branches can have the same commit.
	Repository string `json:"repository,omitempty"`
	Branch     string `json:"branch,omitempty"`
	Path       string `json:"path,omitempty"`
	// Commit is the commit that it read, or the beginning of its id. It is empty if it could not read one.
	Commit string `json:"commit,omitempty"`
	// State is Applied, Healthy or Failed, and Message says why something failed.
	State   State  `json:"state"`
	Message string `json:"message,omitempty"`
	// Sent is the time by the reconciler's clock. It is compared only with other times of the same reconciler.
	Sent time.Time `json:"sent"`

	received time.Time
}

// clean returns the report with short texts of one line.
func (r Report) clean() Report {
	for _, text := range []*string{&r.Cluster, &r.Reconciler, &r.Pipeline, &r.Unit, &r.Repository, &r.Branch, &r.Path,
		&r.Commit} {
		*text = oneLine(*text, maxNameBytes)
	}
	r.Message = oneLine(r.Message, maxMessageBytes)
	return r
}

// oneLine returns a text without line breaks and control characters, of at most limit bytes.
func oneLine(text string, limit int) string {
	text = text[:min(len(text), 4*limit)] // The rest would not be shown.
	text = committext.OneLine(strings.Join(strings.Fields(text), " "))
	const more = "…"
	if len(text) <= limit {
		return text
	}
	return strings.ToValidUTF8(text[:limit-len(more)], "") + more
}
