package fleet

import (
	"github.com/fluxcd/pkg/apis/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/agentry-dev/agentry/gitsync"
	"github.com/agentry-dev/agentry/gitsync/plan"
)

// Status is the state of one pipeline. What it refers to must not be changed.
type Status struct {
	// Name is the pipeline's; Origin says where it is defined: file:line.
	Name   string `json:"name"`
	Origin string `json:"origin,omitempty"`
	// ForEach is the pattern of a definition that makes pipelines of folders, and Pipelines are their
	// names. Such a definition has neither output nor units itself.
	ForEach   string   `json:"forEach,omitempty"`
	Pipelines []string `json:"pipelines,omitempty"`
	// Suspended is spec.suspend.
	Suspended bool `json:"suspended"`
	// Owned says that this replica runs the pipeline. If not, it does not know the rest of the status.
	Owned bool `json:"owned"`

	// Conditions are always Ready, and Reconciling and Stalled if they are true, with the
	// meaning and the reasons of Flux:
	//
	//   - Ready is True (Succeeded) when the output matches the inputs. False: BuildFailed if the
	//     inputs have errors, even if only some units are held; Failed if a repository
	//     cannot be read or written, or the configuration is wrong; DependencyNotReady if a
	//     rollout holds it back. Unknown: Progressing before the first pass has ended,
	//     Suspended, or Elsewhere if another replica runs it.
	//   - Reconciling is True while a pass runs or is due: Progressing; ProgressingWithRetry
	//     after a failure; DependencyNotReady while it waits for a rollout.
	//   - Stalled is True when the pipeline cannot go on before somebody does something.
	Conditions []metav1.Condition `json:"conditions"`

	// Sources are the input commits and Output the branch after the last successful pass.
	Sources []gitsync.SourceStatus `json:"sources"`
	Output  *gitsync.OutputStatus  `json:"output,omitempty"`
	// Units are sorted by name.
	Units []UnitStatus `json:"units"`
	// Held are the objects that are not rendered as they are in the inputs.
	Held []plan.HeldObject `json:"held"`
	// Findings are the diagnostics of the last successful pass.
	Findings gitsync.Findings `json:"findings"`

	// LastHandledReconcileAt is the token of the last manual trigger whose pass has ended.
	LastHandledReconcileAt string `json:"lastHandledReconcileAt,omitempty"`
	// LastPass is the last pass that has ended.
	LastPass *PassStatus `json:"lastPass,omitempty"`
	// NextPass is when something happens at the latest: a remote is listed, or a failed pass is
	// retried. Nil: not before something changes.
	NextPass *metav1.Time `json:"nextPass,omitempty"`
	// Failures counts the passes that have failed since the last successful one.
	Failures int `json:"failures"`
	// History has the last commits of the output, newest first. A snapshot's digest is
	// sha1:<commit>, its status the reason of Ready, and its metadata `revision`,
	// <branch>@sha1:<commit>, `originRevision`, the revision of the first source, and `originSubject`, the first line
	// of that commit's message.
	History meta.History `json:"history,omitempty"`
}

// UnitStatus is the state of a unit after the last pass.
type UnitStatus struct {
	gitsync.UnitStatus
	// Conditions have Ready: True (Succeeded, or Suspended if it is paused), or False
	// (BuildFailed).
	Conditions []metav1.Condition `json:"conditions"`
}

// PassStatus is a pass that has ended.
type PassStatus struct {
	Began metav1.Time     `json:"began"`
	Took  metav1.Duration `json:"took"`
	// Trigger is why it was made.
	Trigger string `json:"trigger"`
	// Commit is the commit that it pushed, if it pushed one.
	Commit string `json:"commit,omitempty"`
	// Error says why it failed.
	Error string `json:"error,omitempty"`
}

// RemoteStatus is the state of one remote: a repository as one credential sees it.
type RemoteStatus struct {
	URL       string          `json:"url"` // normalised
	Pipelines int             `json:"pipelines"`
	Refs      int             `json:"refs"` // listed in each round
	Interval  metav1.Duration `json:"interval"`
	// LastRound is when the last successful round ended, and Took its duration.
	LastRound *metav1.Time    `json:"lastRound,omitempty"`
	Took      metav1.Duration `json:"took"`
	NextRound *metav1.Time    `json:"nextRound,omitempty"`
	// Failures counts the rounds that have failed since, and Error is the last one's.
	Failures int    `json:"failures"`
	Error    string `json:"error,omitempty"`
}

// ReasonElsewhere is the reason of Ready for a pipeline that another replica runs.
const ReasonElsewhere = "Elsewhere"
