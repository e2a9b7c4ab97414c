package pipelinefile

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/gitsync/repo"
	"github.com/agentry-dev/agentry/gitsync/repo/transport"
	"github.com/agentry-dev/agentry/gitsync/source"
)

// DefaultListTimeout limits the time of listing the folders of one forEach.
const DefaultListTimeout = 10 * time.Minute

// ExpandOptions are the settings of [Expand].
type ExpandOptions struct {
	// CacheDir is the folder with the caches of the repositories.
	CacheDir string
	// Getenv reads credentials that are in environment variables.
	Getenv Getenv
	// Folders returns the folders of a template whose first source is on this machine; otherwise isLocal is false.
	// Nil: none is.
	Folders func(ctx context.Context, p *Pipeline) (found []string, isLocal bool, err error)
	// MayList reports whether a request may list the folders of a template that is not on this machine. If not, the
	// template is left out. Nil: it may.
	MayList func(p *Pipeline) bool
	// Suspended expands suspended templates as well.
	Suspended bool
	// Timeout limits the listing for one template. Default [DefaultListTimeout].
	Timeout time.Duration
}

// Expand replaces each template of a fleet by the pipelines of its current folders. A suspended template stays, unless
// an option says otherwise. The list has the problems with folders, and with pipelines together; pipelines with an
// error are left out. An error means that a repository could not be read; the other templates are expanded all the
// same.
func Expand(ctx context.Context, fleet []*Pipeline, opts ExpandOptions) ([]*Pipeline, diag.List, error) {
	var out []*Pipeline
	var found diag.List
	var errs []error
	for _, p := range fleet {
		if p.each == nil || p.Spec.Suspend && !opts.Suspended {
			out = append(out, p)
			continue
		}
		made, problems, err := p.expandNow(ctx, opts)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: spec.forEach: %w", p.Origin(), err))
		}
		out, found = append(out, made...), append(found, problems...)
	}
	out, problems := settle(out, func(p *Pipeline) bool { return p.folder == "" })
	found = append(found, problems...)
	found.Sort()
	return out, found, errors.Join(errs...)
}

// expandNow lists the folders of a template and returns its pipelines.
func (p *Pipeline) expandNow(ctx context.Context, opts ExpandOptions) ([]*Pipeline, diag.List, error) {
	if opts.Folders != nil {
		if folders, isLocal, err := opts.Folders(ctx, p); isLocal || err != nil {
			made, found := p.expandTo(folders)
			return made, found, err
		}
	}
	if opts.MayList != nil && !opts.MayList(p) {
		return nil, nil, nil
	}
	creds, found := p.Credentials(opts.Getenv)
	if found.HasErrors() {
		return nil, found, nil
	}
	if opts.Timeout <= 0 {
		opts.Timeout = DefaultListTimeout
	}
	ctx, cancel := context.WithTimeoutCause(ctx, opts.Timeout,
		fmt.Errorf("listing the folders took longer than %s", opts.Timeout))
	defer cancel()
	r, err := repo.Open(opts.CacheDir, transport.Remote{URL: p.Spec.Sources[0].URL, Auth: creds.Sources[0]},
		repo.Options{})
	if err != nil {
		return nil, nil, err
	}
	defer r.Close()
	folders, _, err := source.ListFolders(ctx, r, &p.Pipeline, creds.Verify[0], time.Now())
	if err != nil {
		return nil, nil, err
	}
	made, found := p.expandTo(folders)
	return made, found, nil
}

// expandTo returns the pipelines of folders. It warns if there is none.
func (p *Pipeline) expandTo(folders []string) ([]*Pipeline, diag.List) {
	made, found := p.Expand(folders)
	if len(folders) == 0 {
		found = append(found, p.Place(diag.Diagnostic{Severity: diag.Warning, Code: diag.SourcePathMissing,
			Path: "spec.forEach", Message: "matches no folder of the first source"}))
	}
	return made, slices.Clip(found)
}
