package gitsync

import (
	"errors"
	"fmt"
	"reflect"
	"slices"

	"github.com/agentry-dev/agentry/gitsync/pipeline"
	"github.com/agentry-dev/agentry/gitsync/publish"
	"github.com/agentry-dev/agentry/gitsync/repo"
	"github.com/agentry-dev/agentry/gitsync/repo/transport"
	"github.com/agentry-dev/agentry/gitsync/signature"
	"github.com/agentry-dev/agentry/inputs/chart"
)

// remotes are the repositories of a pipeline.
type remotes struct {
	output *repo.Repo
	pusher *repo.Pusher
	repos  []*repo.Repo // the repositories of the sources and the output, each once
}

// SetCredentials replaces the credentials, such as after a rotation. Equal credentials change nothing. After an error
// the old ones stay in use. It must not be called during a pass.
func (s *Syncer) SetCredentials(creds Credentials) error {
	name := s.pipeline.Metadata.Name
	if len(creds.Sources) == 0 {
		creds.Sources = make([]transport.Auth, len(s.sources.List))
	}
	if len(creds.Sources) != len(s.sources.List) {
		return fmt.Errorf("pipeline %s: %d credentials for %d sources", name, len(creds.Sources), len(s.sources.List))
	}
	first := s.output == nil
	sameKey, sameRings := !first && reflect.DeepEqual(creds.Signing, s.creds.Signing), !first &&
		reflect.DeepEqual(creds.Verify, s.creds.Verify)
	sameCharts := !first && reflect.DeepEqual(creds.Charts, s.creds.Charts) &&
		reflect.DeepEqual(creds.Signers, s.creds.Signers) && slices.EqualFunc(creds.Bases, s.creds.Bases, Base.equal)
	if sameDecryption := !first && reflect.DeepEqual(creds.Decryption, s.creds.Decryption); !sameDecryption {
		s.decrypter.Keys, s.creds.Decryption = creds.Decryption, creds.Decryption
		s.fileDecrypter.Use(creds.Decryption)
		s.memory.done = nil // new keys may decrypt more
	}
	newKeys, err := s.sealing.use(&s.pipeline.Spec.Secrets, s.options.SOPS, creds.Sealing)
	if err != nil {
		return fmt.Errorf("pipeline %s: %w", name, err)
	}
	if newKeys {
		s.render.SecretSum, s.memory = s.sealing.sum, memory{}
	}
	if sameKey && sameRings && creds.Output.Equal(s.creds.Output) && sameCharts &&
		slices.EqualFunc(creds.Sources, s.creds.Sources, transport.Auth.Equal) {
		return nil
	}
	var verify []*signature.Verifier
	sign := s.sign
	if !sameKey {
		sign, err = creds.Signing.Signer()
	}
	if err == nil && !sameRings {
		verify, err = creds.verifiers(len(s.sources.List))
	}
	var trusts []chart.Trust
	if err == nil {
		trusts, err = chartTrusts(s.pipeline.Spec.Charts.Verify, creds.Signers)
	}
	if err == nil && !sameCharts {
		err = s.bases.use(s.pipeline.Spec.Build.Remotes, creds.Bases)
	}
	if err == nil && !s.options.Offline {
		err = s.check(creds, verify, sign) // before a shared repository gets any of them
	}
	if err != nil {
		return fmt.Errorf("pipeline %s: %w", name, err)
	}
	next, perSource, err := s.open(creds)
	if err != nil {
		next.close()
		return fmt.Errorf("pipeline %s: %w", name, err)
	}
	if !sameRings || !sameCharts {
		s.memory.done = nil // new keys may not accept the same commits or charts
	}
	old := s.remotes
	s.remotes, s.creds, s.sign = next, creds, sign
	s.use(perSource, verify)
	if !sameCharts {
		s.chartVersions.Configure(chartRepositories(s.pipeline.Spec.Charts.Repositories, creds.Charts), trusts)
	}
	old.close() // repositories that both use stay open
	return nil
}

// use gives each source its repository, and its verifier unless it is nil.
func (s *Syncer) use(perSource []*repo.Repo, verify []*signature.Verifier) {
	s.batches.Renew(s.pipeline.Metadata.Name, s.pusher, s.output)
	for i, src := range s.sources.List {
		src.Repo = perSource[i]
		local, isLocal := s.options.Local[i]
		src.IsLocal = isLocal
		if verify != nil && !src.IsLocal {
			src.Verify = verify[i]
		}
		if isLocal {
			src.Label, src.Kept, src.Tags = local.Label, local.Paths, local.Tags
		} else if len(s.sources.List) > 1 {
			src.Label = s.labelOf(i, perSource)
		}
	}
}

// labelOf returns the name of a source in findings: the URL of its repository, which has no user name as that of the
// pipeline may have; its ref, if several sources are of that repository; and its place, if these have the same ref.
func (s *Syncer) labelOf(i int, repos []*repo.Repo) string {
	label, ref := repos[i].URL(), s.sources.List[i].RefName()
	sameURL, sameRef := 0, 0
	for n, r := range repos {
		if r.URL() == label {
			sameURL++
			if s.sources.List[n].RefName() == ref {
				sameRef++
			}
		}
	}
	if sameURL > 1 {
		label += " " + ref
	}
	if sameRef > 1 {
		label += fmt.Sprintf(" (spec.sources[%d])", i)
	}
	return label
}

// check returns an error for credentials that cannot be used, and for keys that the pipeline demands and that are not
// there: no commit may be accepted or made without them. The verifiers are nil if the old ones stay.
func (s *Syncer) check(creds Credentials, verify []*signature.Verifier, sign signature.Func) error {
	spec := &s.pipeline.Spec
	if c := spec.Output.Commit; c.SigningKeyFile+c.SigningKeyEnv != "" && sign == nil && !s.options.DryRun {
		return errors.New("output.commit.signingKey: there is no key")
	}
	for i, src := range s.sources.List {
		if _, isLocal := s.options.Local[i]; isLocal {
			continue // it is read without them
		}
		if spec.Sources[i].Verify != nil && verify != nil && verify[i] == nil {
			return fmt.Errorf("sources[%d].verify: there is no key", i)
		}
		if err := (transport.Remote{URL: src.URL, Auth: creds.Sources[i]}).Check(); err != nil {
			return err
		}
	}
	return transport.Remote{URL: spec.Output.URL, Auth: creds.Output}.Check()
}

// open opens each repository once: sources with the same URL and credentials share it, and the output shares it with
// a source of the same URL.
func (s *Syncer) open(creds Credentials) (next remotes, perSource []*repo.Repo, err error) {
	spec := &s.pipeline.Spec
	output, err := transport.NormaliseURL(spec.Output.URL)
	if err != nil {
		return next, nil, err
	}
	for i, src := range spec.Sources {
		remote := transport.Remote{URL: src.URL, Auth: creds.Sources[i]}
		local, isLocal := s.options.Local[i]
		if isLocal && pipeline.SameRepository(src.URL, spec.Output.URL) {
			remote = transport.Remote{URL: spec.Output.URL, Auth: creds.Output}
		}
		var r *repo.Repo
		if isLocal && remote.Check() != nil { // its older commits cannot be fetched
			r, err = next.addLocal(remote.URL, s.options.Repo)
		} else {
			r, err = next.add(&s.options, remote)
		}
		if err != nil {
			return next, nil, err
		}
		if isLocal {
			r.Add(local.Objects)
		}
		perSource = append(perSource, r)
		if next.output == nil && r.URL() == output {
			next.output = r
		}
	}
	if next.output == nil {
		if next.output, err = next.add(&s.options,
			transport.Remote{URL: spec.Output.URL, Auth: creds.Output}); err != nil {
			return next, nil, err
		}
	}
	if s.options.Offline {
		return next, perSource, nil
	}
	next.pusher, err = next.output.Pusher(creds.Output)
	return next, perSource, err
}

// add opens a repository and keeps one reference to it.
func (r *remotes) add(options *Options, remote transport.Remote) (*repo.Repo, error) {
	if options.Offline {
		return r.addLocal(remote.URL, options.Repo)
	}
	opened, err := options.Pool.Open(remote)
	if err != nil {
		return nil, err
	}
	if slices.Contains(r.repos, opened) {
		opened.Close()
		return opened, nil
	}
	r.repos = append(r.repos, opened)
	return opened, nil
}

// addLocal adds a repository that sends no request.
func (r *remotes) addLocal(url string, options repo.Options) (*repo.Repo, error) {
	name, err := transport.NormaliseURL(url)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(r.repos, func(known *repo.Repo) bool { return known.URL() == name })
	if i < 0 {
		i, r.repos = len(r.repos), append(r.repos, repo.Local(name, options))
	}
	return r.repos[i], nil
}

func (r *remotes) close() {
	if r.pusher != nil {
		r.pusher.Close()
	}
	for _, opened := range r.repos {
		opened.Close()
	}
	*r = remotes{}
}

// RemoteRefs are refs of one repository.
type RemoteRefs struct {
	Repo *repo.Repo
	Refs []repo.Ref
}

// Refs returns the branches and tags whose changes may need a pass: the refs of the sources, and the output branch. All
// of them are optional. Pinned commits are not included, since they do not change. The repositories are valid until the
// next [Syncer.SetCredentials] or [Syncer.Close].
func (s *Syncer) Refs() []RemoteRefs {
	var out []RemoteRefs
	for _, r := range s.repos {
		refs := RemoteRefs{Repo: r}
		for _, src := range s.sources.List {
			ref := src.Ref.RepoRef()
			ref.Optional = true
			if src.Repo == r && ref.Commit == "" && !slices.Contains(refs.Refs, ref) {
				refs.Refs = append(refs.Refs, ref)
			}
		}
		if r == s.output {
			refs.Refs = append(refs.Refs, publish.Refs(&s.pipeline.Spec.Output)...)
		}
		out = append(out, refs)
	}
	return out
}

// verifiers parses the keys of all sources.
func (c Credentials) verifiers(sources int) ([]*signature.Verifier, error) {
	out := make([]*signature.Verifier, sources)
	if len(c.Verify) > sources {
		return nil, fmt.Errorf("%d keyrings for %d sources", len(c.Verify), sources)
	}
	for i, keys := range c.Verify {
		v, err := keys.Verifier()
		if err != nil {
			return nil, fmt.Errorf("sources[%d].verify: %w", i, err)
		}
		out[i] = v
	}
	return out, nil
}
