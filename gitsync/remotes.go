package gitsync

import (
	"errors"
	"fmt"
	"reflect"
	"slices"

	"github.com/agentry-dev/agentry/gitsync/repo"
)

// remotes are the repositories of a pipeline.
type remotes struct {
	output *repo.Repo
	pusher *repo.Pusher
	repos  []*repo.Repo // of the sources and the output, each once
}

// SetCredentials replaces the credentials, as when their files were rotated. The same
// ones cost next to nothing. After an error the old ones are in use still. Not to be
// called during a pass.
func (s *Syncer) SetCredentials(creds Credentials) error {
	name := s.pipeline.Metadata.Name
	if len(creds.Sources) != len(s.sources) {
		return fmt.Errorf("pipeline %s: %d credentials for %d sources", name, len(creds.Sources), len(s.sources))
	}
	if s.verify == nil || !reflect.DeepEqual(creds.Verify, s.keyrings) {
		verify, err := creds.verifiers(len(s.sources))
		if err != nil {
			return fmt.Errorf("pipeline %s: %w", name, err)
		}
		s.keyrings, s.verify = creds.Verify, verify
	}
	if !reflect.DeepEqual(creds.Signing, s.signing) {
		sign, err := creds.Signing.signer()
		if err != nil {
			return fmt.Errorf("pipeline %s: %w", name, err)
		}
		s.signing, s.sign = creds.Signing, sign
	}
	next, perSource, err := s.open(creds)
	if err != nil {
		return errors.Join(fmt.Errorf("pipeline %s: %w", name, err), next.close())
	}
	old := s.remotes
	s.remotes = next
	s.batches.renew(name, s.pusher, s.output)
	for i, src := range s.sources {
		src.repo = perSource[i]
		if len(s.sources) > 1 {
			src.label = src.repo.URL() // what the pipeline says may hold a user name, which may be a token
		}
	}
	return old.close() // what both have stays open
}

// open opens each repository once: sources that share URL and credential share it, and
// the output joins a source of the same URL.
func (s *Syncer) open(creds Credentials) (next remotes, perSource []*repo.Repo, err error) {
	spec := &s.pipeline.Spec
	output, err := repo.NormaliseURL(spec.Output.URL)
	if err != nil {
		return next, nil, err
	}
	for i, src := range spec.Sources {
		r, err := next.add(s.options.Pool, repo.Remote{URL: src.URL, Auth: creds.Sources[i]})
		if err != nil {
			return next, nil, err
		}
		perSource = append(perSource, r)
		if next.output == nil && r.URL() == output {
			next.output = r
		}
	}
	if next.output == nil {
		if next.output, err = next.add(s.options.Pool, repo.Remote{URL: spec.Output.URL, Auth: creds.Output}); err != nil {
			return next, nil, err
		}
	}
	next.pusher, err = next.output.Pusher(creds.Output)
	return next, perSource, err
}

// add opens a repository, of which one reference is kept.
func (r *remotes) add(pool *repo.Pool, remote repo.Remote) (*repo.Repo, error) {
	opened, err := pool.Open(remote)
	if err != nil {
		return nil, err
	}
	if slices.Contains(r.repos, opened) {
		return opened, opened.Close()
	}
	r.repos = append(r.repos, opened)
	return opened, nil
}

func (r *remotes) close() error {
	if r.pusher != nil {
		r.pusher.Close()
	}
	var errs []error
	for _, opened := range r.repos {
		errs = append(errs, opened.Close())
	}
	*r = remotes{}
	return errors.Join(errs...)
}

// RemoteRefs are refs of one repository.
type RemoteRefs struct {
	Repo *repo.Repo
	Refs []repo.Ref
}

// Refs are the refs whose moves may give a pass work, all of them optional: those of the
// sources, and the output branch. Commits are not among them, since they do not move. The
// repositories are valid until the next [Syncer.SetCredentials] or [Syncer.Close].
func (s *Syncer) Refs() []RemoteRefs {
	var out []RemoteRefs
	for _, r := range s.repos {
		refs := RemoteRefs{Repo: r}
		for _, src := range s.sources {
			ref := src.Ref.repoRef()
			ref.Optional = true
			if src.repo == r && ref.Commit == "" && !slices.Contains(refs.Refs, ref) {
				refs.Refs = append(refs.Refs, ref)
			}
		}
		if r == s.output {
			refs.Refs = append(refs.Refs, s.outputRefs()...)
		}
		out = append(out, refs)
	}
	return out
}
