package oci

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/agentry-dev/agentry/gitsync"
	"github.com/agentry-dev/agentry/gitsync/fleet"
	"github.com/agentry-dev/agentry/gitsync/pipeline"
	"github.com/agentry-dev/agentry/gitsync/repo"
	"github.com/agentry-dev/agentry/gitsync/repo/transport"
	"github.com/agentry-dev/agentry/internal/outbox"
	"github.com/agentry-dev/agentry/internal/pipelinefile"
)

// PushTimeout limits the time of one push.
const PushTimeout = 5 * time.Minute

// Options configure an [Observer].
type Options struct {
	// Pool is the fleet's pool, which has the output repositories. Required.
	Pool *repo.Pool
	// Secrets reads the credentials of a pipeline. It is called for each push, because files can change. Required.
	Secrets func(d *fleet.Definition) (*pipelinefile.Secrets, error)
	// MayPublish reports whether this replica, and no other, may push. It is called right before each push.
	// Default: always true.
	MayPublish func() bool
	// Log logs each artifact and each failed push. Default: none.
	Log *slog.Logger
}

// Observer pushes the artifact of an output branch when the branch has moved, and once after a start, because the last
// push before it may have been lost. Passes never wait for it.
type Observer struct {
	options Options
	box     *outbox.Box

	mu   sync.Mutex
	done map[string]string // by pipeline: the output commit whose artifact is pushed or queued
}

var _ fleet.Observer = (*Observer)(nil)

// New returns an observer. It pushes nothing before Run.
func New(opts Options) *Observer {
	if opts.MayPublish == nil {
		opts.MayPublish = func() bool { return true }
	}
	if opts.Log == nil {
		opts.Log = slog.New(slog.DiscardHandler)
	}
	return &Observer{options: opts, box: outbox.New(outbox.Options{Log: opts.Log, Timeout: PushTimeout, Workers: 2}),
		done: map[string]string{}}
}

// Run pushes artifacts until ctx ends, and then the queued ones for a few seconds.
func (o *Observer) Run(ctx context.Context) error { return o.box.Run(ctx) }

// Stats returns the counts of pushes.
func (o *Observer) Stats() outbox.Stats { return o.box.Stats() }

// Passed implements fleet.Observer.
func (o *Observer) Passed(_ context.Context, out fleet.Outcome) {
	d, name := out.Definition, out.After.Name
	if d == nil || out.Removed || d.Spec.Output.OCI == nil {
		o.set(name, "")
		return
	}
	if !out.After.Owned || !out.IsPass() || out.Err != nil || out.After.Output == nil || out.After.Output.Commit == "" {
		return
	}
	commit := out.After.Output.Commit
	if !o.set(name, commit) {
		return
	}
	to := *d.Spec.Output.OCI
	o.box.Put(outbox.Job{Recipient: to.URL, Key: name, What: "artifact", Pipeline: name,
		Do: func(ctx context.Context) error {
			if !o.options.MayPublish() {
				o.set(name, "")
				return nil
			}
			err := o.push(ctx, d, to, plumbing.NewHash(commit))
			if isPermanent(err) {
				o.set(name, "")
				return outbox.Permanent(err)
			}
			return err
		}})
}

// set records that a commit is pushed, and reports whether it was not recorded before.
func (o *Observer) set(pipeline, commit string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.done[pipeline] == commit {
		return false
	}
	o.done[pipeline] = commit
	if commit == "" {
		delete(o.done, pipeline)
	}
	return true
}

func (o *Observer) push(ctx context.Context, d *fleet.Definition, to pipeline.OCI, commit plumbing.Hash) error {
	artifact, err := o.build(ctx, d, commit)
	if err != nil {
		return fmt.Errorf("make the artifact of %s: %w", commit, err)
	}
	secrets, err := o.options.Secrets(d)
	if err != nil {
		return err
	}
	pushed, err := Push(ctx, artifact, to, secrets.OCI)
	if err == nil && len(pushed.Tags) > 0 {
		o.options.Log.Info("pushed an artifact", "pipeline", d.Metadata.Name, "digest", pushed.Digest, "tags",
			pushed.Tags)
	}
	return err
}

// build builds the artifact of the output commit. The pass has fetched or made the commit, so this needs no network.
func (o *Observer) build(ctx context.Context, d *fleet.Definition, commit plumbing.Hash) (*Artifact, error) {
	creds, err := d.Credentials()
	if err != nil {
		return nil, err
	}
	auth, err := readAuth(d.Spec, creds)
	if err != nil {
		return nil, err
	}
	r, err := o.options.Pool.Open(transport.Remote{URL: d.Spec.Output.URL, Auth: auth})
	if err != nil {
		return nil, err
	}
	defer r.Close() // the fleet has it open too
	if _, err := r.Fetch(ctx, repo.Ref{Commit: commit.String(), Branch: d.Spec.Output.Branch}); err != nil {
		return nil, err
	}
	rd := r.Reader()
	defer rd.Close()
	branch := ""
	if len(d.Spec.Sources) > 0 {
		branch = d.Spec.Sources[0].Ref.Branch
	}
	return Build(rd, commit, d.Spec.Output.Path, branch)
}

// readAuth returns the credentials for reading the output: as in passes, they come from the first source with the same
// URL.
func readAuth(spec pipeline.Spec, creds gitsync.Credentials) (transport.Auth, error) {
	output, err := transport.NormaliseURL(spec.Output.URL)
	if err != nil {
		return transport.Auth{}, err
	}
	for i, s := range spec.Sources {
		url, err := transport.NormaliseURL(s.URL)
		if err == nil && url == output && i < len(creds.Sources) {
			return creds.Sources[i], nil
		}
	}
	return creds.Output, nil
}
