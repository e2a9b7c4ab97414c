package pipeline

import (
	"errors"

	"github.com/agentry-dev/agentry/gitsync/budget"
	"github.com/agentry-dev/agentry/gitsync/repo"
	"github.com/agentry-dev/agentry/gitsync/repo/transport"
)

// ErrLate is the cause with which a pass ends that takes too long. The limit follows.
var ErrLate = errors.New("the pass took longer than")

// Remedy returns the hint for an error of a repository. It is empty if nobody needs to do anything, or the remedy is
// unknown.
func Remedy(err error) string {
	for _, known := range []struct {
		kind   error
		remedy string
	}{
		{transport.ErrAuth, "give spec.output.auth a credential that may push, or the source's auth one that may read"},
		{transport.ErrHostKey, "if the host has a new key, add it to the file that knownHostsFile names"},
		{transport.ErrRepositoryNotFound, "check the url, and whether the credential may see the repository"},
		{transport.ErrRefNotFound, "check the source's ref"},
		{repo.ErrEmptyRepository, "push a first commit"},
		{repo.ErrRejected, "let the credential of spec.output.auth push there, or choose another branch"},
		{budget.ErrExceeded, "read fewer files by sources[].paths or a .sourceignore, or split the pipeline; or give " +
			"the process more memory, by GOMEMLIMIT or the chart's resources.limits.memory"},
		{ErrLate, "split the kustomization or chart that takes long, read fewer files by sources[].paths or a " +
			".sourceignore, or split the pipeline"},
		{repo.ErrFiles, "let the process open more files, by ulimit -n or LimitNOFILE of systemd; each pipeline " +
			"needs some"},
		{repo.ErrCache, "make room in the folder of --cache-dir, or let agentry write there; nothing in it is " +
			"needed, it may be emptied"},
	} {
		if errors.Is(err, known.kind) {
			return known.remedy
		}
	}
	return ""
}
