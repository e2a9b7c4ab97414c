package fleet

import (
	"context"
	"fmt"
	"time"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/gitsync"
	"github.com/agentry-dev/agentry/gitsync/repo"
	"github.com/agentry-dev/agentry/gitsync/repo/transport"
	"github.com/agentry-dev/agentry/gitsync/signature"
	"github.com/agentry-dev/agentry/gitsync/source"
)

// expander is the syncer of a definition with forEach: its passes list folders and make
// pipelines of them.
type expander struct {
	def  *Definition
	pool *repo.Pool
	repo *repo.Repo
	keys signature.Keyring // accept the commit whose folders count
	ref  repo.Ref
	made []Definition
}

var _ templateSyncer = (*expander)(nil)

func newExpander(def *Definition, pool *repo.Pool, creds gitsync.Credentials) (*expander, error) {
	e := &expander{def: def, pool: pool, ref: sourceRef(def.Spec.Sources[0])}
	return e, e.SetCredentials(creds)
}

// PassSince implements syncer. The report's diagnostics are about single folders; an error means that none could be
// listed, and leaves the pipelines unchanged.
func (e *expander) PassSince(ctx context.Context, since time.Time) (*gitsync.Report, error) {
	folders, commit, err := source.ListFolders(ctx, e.repo, &e.def.Pipeline, e.keys, since)
	if err != nil {
		return nil, err
	}
	made, problems := e.def.Expand(folders)
	if len(folders) == 0 {
		problems = append(problems, diag.Diagnostic{
			Severity: diag.Warning, Code: diag.SourcePathMissing,
			Message: fmt.Sprintf("spec.forEach: %s matches no folder", e.def.Spec.ForEach),
		})
	}
	e.made = made
	return &gitsync.Report{
		Pipeline: e.def.Metadata.Name,
		Sources:  []gitsync.SourceStatus{{URL: e.repo.URL(), Ref: e.ref.String(), Commit: commit.String()}},
		Diags:    problems,
	}, nil
}

// Made implements templateSyncer.
func (e *expander) Made() []Definition { return e.made }

// Refs implements syncer.
func (e *expander) Refs() []gitsync.RemoteRefs {
	refs := gitsync.RemoteRefs{Repo: e.repo}
	if ref := e.ref; ref.Commit == "" {
		ref.Optional = true
		refs.Refs = []repo.Ref{ref}
	}
	return []gitsync.RemoteRefs{refs}
}

// SetCredentials implements syncer.
func (e *expander) SetCredentials(creds gitsync.Credentials) error {
	if len(creds.Sources) == 0 {
		return fmt.Errorf("pipeline %s: no credentials", e.def.Metadata.Name)
	}
	next, err := e.pool.Open(transport.Remote{URL: e.def.Spec.Sources[0].URL, Auth: creds.Sources[0]})
	if err != nil {
		return fmt.Errorf("pipeline %s: %w", e.def.Metadata.Name, err)
	}
	if len(creds.Verify) > 0 {
		e.keys = creds.Verify[0]
	}
	if e.repo != nil {
		e.repo.Close() // gives back one of two, if they are the same
	}
	e.repo = next
	return nil
}

// Forget implements syncer: nothing is kept.
func (e *expander) Forget() {}

// Size implements syncer.
func (e *expander) Size() int64 { return 0 }

// Close implements syncer.
func (e *expander) Close() { e.repo.Close() }
