package doctor

import (
	"context"
	"errors"
	"fmt"
	"net/url"

	"github.com/agentry-dev/agentry/gitsync"
	"github.com/agentry-dev/agentry/gitsync/pipeline"
	"github.com/agentry-dev/agentry/gitsync/publish"
	"github.com/agentry-dev/agentry/gitsync/repo"
	"github.com/agentry-dev/agentry/gitsync/repo/transport"
	"github.com/agentry-dev/agentry/internal/pipelinefile"
)

// answer is the response of a repository.
type answer struct {
	remote  transport.Remote
	program transport.Program
	refs    *repo.Refs
	err     error
}

// ask lists the refs of a repository with a fetch or push session. It ends a push session without a push.
func (e *examiner) ask(ctx context.Context, remote transport.Remote, program transport.Program) *answer {
	for _, a := range e.asked {
		if a.program == program && a.remote.URL == remote.URL && a.remote.Auth.Equal(remote.Auth) {
			return a
		}
	}
	a := &answer{remote: remote, program: program}
	e.asked = append(e.asked, a)
	ctx, cancel := context.WithTimeoutCause(ctx, e.Timeout, fmt.Errorf("no answer in %s", e.Timeout))
	defer cancel()
	client, err := transport.NewClient(remote, 2*e.Timeout) // the deadline comes first
	if err != nil {
		a.err = err
		return a
	}
	defer client.Close()
	session, err := client.Start(ctx, program)
	if err != nil {
		a.err = err
		return a
	}
	a.err = session.Close()
	a.refs = repo.NewRefs(client.URL(), session.Advertised)
	if u, err := url.Parse(client.URL()); err == nil {
		e.compareClock(u.Host, session.Date)
	}
	return a
}

// sources checks that each source can be read and has the ref of the pipeline.
func (e *examiner) sources(ctx context.Context, p *pipelinefile.Pipeline, creds gitsync.Credentials,
	named []pipelinefile.Named) (results []Result) {
	for i, s := range p.Spec.Sources {
		at := fmt.Sprintf("spec.sources[%d]", i)
		if unreadable(named, at+".auth") {
			results = append(results, skipped(checkSource, at, "its credential cannot be read", ""))
			continue
		}
		a := e.ask(ctx, transport.Remote{URL: s.URL, Auth: creds.Sources[i]}, transport.UploadPack)
		ref := s.Ref.RepoRef()
		err := a.err
		var tip repo.Tip
		if err == nil {
			tip, err = a.refs.Resolve(ref)
		}
		switch {
		case err != nil:
			results = append(results, failed(checkSource, at, err.Error(), readRemedy(err, at)))
		case ref.Commit != "":
			results = append(results, ok(checkSource, at,
				a.refs.Remote()+" can be read; a pass will show whether it has the commit"))
		default:
			results = append(results, ok(checkSource, at,
				fmt.Sprintf("%s has %s, at %.7s", a.refs.Remote(), ref, tip.Commit)))
		}
	}
	return results
}

// readRemedy returns the remedy for a source that cannot be read.
func readRemedy(err error, at string) string {
	switch {
	case errors.Is(err, transport.ErrUnreachable):
		return "check the URL, the host name, and proxies and firewalls on the way"
	case errors.Is(err, transport.ErrAuth):
		return "set " + at + ".auth to a credential that may read the repository"
	}
	return pipeline.Remedy(err)
}

// output checks that the output can be pushed to, as far as a server tells before a push.
func (e *examiner) output(ctx context.Context, p *pipelinefile.Pipeline, creds gitsync.Credentials,
	named []pipelinefile.Named) []Result {
	const at = "spec.output"
	auth := at + ".auth"
	if p.Spec.InheritsAuth() {
		auth = "spec.sources[0].auth"
	}
	if unreadable(named, auth) {
		return []Result{skipped(checkPush, at, "its credential cannot be read", "")}
	}
	a := e.ask(ctx, transport.Remote{URL: p.Spec.Output.URL, Auth: creds.Output}, transport.ReceivePack)
	if a.err != nil {
		results := []Result{failed(checkPush, at, a.err.Error(), pushRemedy(a.err, auth))}
		if p.Spec.Output.Promotion.Mode.Proposes() {
			results = append(results, skipped(checkNotes, publish.NotesRef, "the repository cannot be pushed to", ""))
		}
		return results
	}
	results := []Result{ok(checkPush, at,
		a.refs.Remote()+" accepts a push; branch rules and hooks can still refuse it")}
	for _, ref := range publish.Refs(&p.Spec.Output) {
		results = append(results, branch(a.refs, ref.Name))
	}
	if p.Spec.Output.Promotion.Mode.Proposes() {
		results = append(results, notes(a.refs))
	}
	return results
}

// branch checks whether a ref of the output exists. It need not.
func branch(refs *repo.Refs, name string) Result {
	if tip := refs.Tip(name); tip.Exists() {
		return ok(checkOutput, name, fmt.Sprintf("is at %.7s", tip.Commit))
	}
	return ok(checkOutput, name, "does not exist yet: a pass creates it")
}

// notes checks whether notes can be written. If their ref does not exist yet, only a push can tell.
func notes(refs *repo.Refs) Result {
	if tip := refs.Tip(publish.NotesRef); tip.Exists() {
		return ok(checkNotes, publish.NotesRef,
			fmt.Sprintf("is at %.7s, and the repository accepts a push", tip.Commit))
	}
	return skipped(checkNotes, publish.NotesRef,
		"does not exist yet, and only a push can tell whether it may be created; if it is refused, the pass has a "+
			"warning",
		"if a pass warns with note-refused, allow pushes to "+publish.NotesRef)
}

// pushRemedy returns the remedy for an output that cannot be pushed to.
func pushRemedy(err error, auth string) string {
	if errors.Is(err, transport.ErrAuth) {
		return "set " + auth + " to a credential that may push: a token that may write the repository's contents, or " +
			"an SSH key that is not read-only"
	}
	return readRemedy(err, "spec.output")
}
