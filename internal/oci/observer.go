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
	"github.com/agentry-dev/agentry/internal/notify/outbox"
	"github.com/agentry-dev/agentry/internal/pipelinefile"
)

// PushTimeout bounds one push.
const PushTimeout = 5 * time.Minute

// Options decide how artifacts are pushed.
type Options struct {
	// Pool holds the output repositories: that of the fleet. Required.
	Pool *repo.Pool
	// Secrets reads what the fields of a pipeline point at. It is called when something is
	// pushed, as files may rotate. Required.
	Secrets func(d *fleet.Definition) (*pipelinefile.Secrets, error)
	// MayPublish reports whether this replica, and no other, may push what has a shard key. It is
	// asked right before each call. Default: it may.
	MayPublish func(shardKey string) bool
	// Log gets a line for each artifact and for what cannot be pushed. Default: none.
	Log *slog.Logger
}

// Observer pushes the artifact of an output branch when it has moved, and once after a start, as
// the push before it may have been lost. It never makes a pass wait.
type Observer struct {
	options Options
	box     *outbox.Box

	mu   sync.Mutex
	done map[string]string // the output commit whose artifact is pushed, or about to be, by pipeline
}

var _ fleet.Observer = (*Observer)(nil)

// New makes an observer that pushes nothing before Run.
func New(opts Options) *Observer {
	if opts.MayPublish == nil {
		opts.MayPublish = func(string) bool { return true }
	}
	if opts.Log == nil {
		opts.Log = slog.New(slog.DiscardHandler)
	}
	return &Observer{options: opts, box: outbox.New(outbox.Options{Log: opts.Log, Timeout: PushTimeout, Workers: 2}), done: map[string]string{}}
}

// Run pushes until ctx ends, and then what waits, for a few seconds.
func (o *Observer) Run(ctx context.Context) error { return o.box.Run(ctx) }

// Stats count what was pushed.
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
	to, shardKey := *d.Spec.Output.OCI, out.After.ShardKey
	o.box.Put(outbox.Job{Recipient: to.URL, Key: name, What: "artifact", Pipeline: name, Do: func(ctx context.Context) error {
		if !o.options.MayPublish(shardKey) {
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

// set takes note of what is pushed, and reports whether it is news.
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
		o.options.Log.Info("pushed an artifact", "pipeline", d.Metadata.Name, "digest", pushed.Digest, "tags", pushed.Tags)
	}
	return err
}

// build reads the output commit, which the pass has fetched or made: that costs no network.
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
	defer func() { _ = r.Close() }() // the fleet has it open too
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

// readAuth is what the output is read with: as in passes, the credential of the first source
// with the same URL.
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
