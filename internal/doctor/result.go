package doctor

import (
	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/internal/pipelinefile"
)

// State is the outcome of a check.
type State string

// The states of a check.
const (
	OK      State = "ok"
	Warning State = "warning"
	Failed  State = "failed"
	Skipped State = "skipped"
)

// The names of checks.
const (
	checkFile        = "file"
	checkCredentials = "credentials"
	checkSource      = "source"
	checkOutput      = "output"
	checkPush        = "push"
	checkLayout      = "layout"
	checkNotes       = "notes"
	checkWebhook     = "webhook"
	checkForge       = "forge"
	checkSigning     = "signing"
	checkVerify      = "verify"
	checkSOPS        = "sops"
	checkCharts      = "charts"
	checkRemotes     = "remotes"
	checkCluster     = "cluster"
	checkClock       = "clock"
	checkCache       = "cache"
)

// Result is the result of one check.
type Result struct {
	// Pipeline is the name of the pipeline; empty for a check of a file or of the machine.
	Pipeline string `json:"pipeline,omitempty"`
	// Check is the name of the check. Names are stable.
	Check string `json:"check"`
	// Subject is the checked file, field of the pipeline, host or folder.
	Subject string `json:"subject,omitempty"`
	State   State  `json:"state"`
	Message string `json:"message"`
	// Remedy is the advice for the user, or empty.
	Remedy string `json:"remedy,omitempty"`
}

func ok(check, subject, message string) Result {
	return Result{Check: check, Subject: subject, State: OK, Message: message}
}

func warned(check, subject, message, remedy string) Result {
	return Result{Check: check, Subject: subject, State: Warning, Message: message, Remedy: remedy}
}

func failed(check, subject, message, remedy string) Result {
	return Result{Check: check, Subject: subject, State: Failed, Message: message, Remedy: remedy}
}

func skipped(check, subject, why, remedy string) Result {
	return Result{Check: check, Subject: subject, State: Skipped, Message: why, Remedy: remedy}
}

// ofFile returns the result for a diagnostic about a pipeline file.
func ofFile(file string, d diag.Diagnostic) Result {
	if at := d.Position(); at != "" {
		file = at
	}
	r := Result{Pipeline: d.Object.Name, Check: checkFile, Subject: file, State: Failed, Message: d.Problem(),
		Remedy: d.Hint}
	if d.Severity != diag.Error {
		r.State = Warning
	}
	return r
}

// ofCredential returns the result for the file or variable of a credential.
func ofCredential(n pipelinefile.Named) Result {
	if n.Problem == nil {
		what := "the environment variable " + n.Env + " is set"
		if n.File != "" {
			what = n.File + " can be read"
		}
		return ok(checkCredentials, n.Field, what)
	}
	remedy := n.Problem.Hint
	switch {
	case remedy != "":
	case n.File != "":
		remedy = "put the credential into that file, and let the user who runs agentry read it; names are relative " +
			"to the pipeline file"
	default:
		remedy = "set " + n.Env + " in the environment of agentry"
	}
	return failed(checkCredentials, n.Field, n.Problem.Message, remedy)
}
