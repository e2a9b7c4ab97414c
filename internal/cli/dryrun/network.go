package dryrun

import (
	"crypto/rand"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/gitsync"
	"github.com/agentry-dev/agentry/gitsync/pipeline"
	"github.com/agentry-dev/agentry/gitsync/repo/transport"
	"github.com/agentry-dev/agentry/gitsync/seal"
	"github.com/agentry-dev/agentry/inputs/chart"
	"github.com/agentry-dev/agentry/internal/checkout"
	"github.com/agentry-dev/agentry/internal/httpclient"
	"github.com/agentry-dev/agentry/internal/pipelinefile"
)

// limitNetwork leaves out what may not be fetched: everything if the run is offline; and without a file that somebody
// named, what is on another host than this repository, because a pull request can change a file that is found. If
// that is all sources of its own, the run is away.
func (r *Run) limitNetwork(s *session, options *gitsync.Options, c *gitsync.Credentials, own int) {
	if options.OnlyCachedCharts {
		r.note("charts and remote bases are read from the cache only: --offline")
	}
	if r.file == "" {
		return
	}
	if !options.Offline && r.notFetched(s, r.Pipeline.Spec.Output.URL, c.Output) {
		r.note("held versions are left out, because the output branch is on another host than this repository, or "+
			"needs a key; -f %s reads it", r.file)
		options.Offline = true
	} else if r.request.Offline {
		r.note("held versions are left out: --offline")
	}
	var left []int
	spec := &r.Pipeline.Spec
	for i, src := range spec.Sources {
		if r.local(i) == nil && (options.Offline || r.notFetched(s, src.URL, c.Sources[i])) {
			left = append(left, i)
			r.LeftOut = append(r.LeftOut, fmt.Sprintf("%s (%s)", src.URL, src.Ref.RepoRef()))
		}
	}
	if r.IsAway = len(left) == own; r.IsAway {
		return
	}
	for _, i := range slices.Backward(left) {
		r.leaveOut(i, c)
	}
	for _, src := range r.LeftOut {
		r.note("the source %s is left out: it is not on this machine", src)
	}
}

// leaveOut removes a source that is not read.
func (r *Run) leaveOut(source int, c *gitsync.Credentials) {
	r.Pipeline.Spec.Sources = slices.Delete(slices.Clone(r.Pipeline.Spec.Sources), source, source+1)
	c.Sources = slices.Delete(slices.Clone(c.Sources), source, source+1)
	if c.Verify != nil {
		c.Verify = slices.Delete(slices.Clone(c.Verify), source, source+1)
	}
	for _, l := range r.locals {
		if l.index > source {
			l.index--
		}
	}
}

// byName says how the credentials of a file that was found are used.
func (r *Run) byName() string {
	if r.request.File != "" {
		return ""
	}
	return "; -f " + r.file + " uses all of its credentials"
}

// notFetched reports whether a repository is on another host than the repository at hand, or lacks a key, and nobody
// named the file.
func (r *Run) notFetched(s *session, url string, auth transport.Auth) bool {
	return r.request.File == "" && (!s.isNear(url) || transport.Remote{URL: url, Auth: auth}.Check() != nil)
}

// mayCarry reports whether a credential of a file that was found may be sent to a repository. The file can be a
// stranger's, so only to the host that the checkout is from, and not by a proxy, with a certificate or for an app that
// the file names.
func mayCarry(s *session, url string, auth transport.Auth) bool {
	return s.isNear(url) && auth.Token == nil && reflect.DeepEqual(auth.Connection, httpclient.Connection{})
}

// credentials returns those that a dry run needs and that are on this machine.
func (r *Run) credentials(s *session, options *gitsync.Options) (c gitsync.Credentials, err error) {
	p := r.Pipeline
	c, found := p.Credentials(r.request.Getenv)
	isFound := r.request.File == "" && (r.file != "" || !r.request.Flags) // what flags say is trusted
	wrong := slices.DeleteFunc(found, func(d diag.Diagnostic) bool {
		var source int
		if _, err := fmt.Sscanf(d.Path, "spec.sources[%d]", &source); err == nil {
			return isFound || r.request.Offline || r.local(source) != nil
		}
		return strings.HasPrefix(d.Path, "spec.output.") || strings.HasPrefix(d.Path, "spec.decryption.") ||
			isFound && (strings.HasPrefix(d.Path, "spec.charts.repositories[") ||
				strings.HasPrefix(d.Path, "spec.build.remotes[") && strings.Contains(d.Path, "].auth.")) ||
			!options.Encrypt && strings.HasPrefix(d.Path, "spec.secrets.sops.hmacKey")
	})
	if wrong.HasErrors() {
		return c, &Misconfigured{Found: wrong, File: manifest.File{Path: r.file}}
	}
	c.Signing.Key, c.Signing.Passphrase = nil, nil // nothing is committed
	if isFound {
		for i, src := range p.Spec.Sources[:min(len(c.Sources), len(p.Spec.Sources))] {
			if !mayCarry(s, src.URL, c.Sources[i]) {
				c.Sources[i] = transport.Auth{}
			}
		}
		if !mayCarry(s, p.Spec.Output.URL, c.Output) {
			c.Output = transport.Auth{}
		}
		c.Charts = make([]chart.Access, len(c.Charts))
		for i, remote := range p.Spec.Build.Remotes {
			if !mayCarry(s, remote.URL, c.Bases[i].Auth) {
				c.Bases[i].Auth = transport.Auth{Connection: httpclient.Connection{PublicOnly: !s.isNear(remote.URL)}}
			}
		}
	}
	if p.Spec.Secrets.Seals() && len(c.Sealing.Key) < seal.MinKeyBytes {
		c.Sealing.Key = []byte(rand.Text() + rand.Text()) // nothing is encrypted
	}
	return c, nil
}

// mayList reports whether a request may list the folders of a template. If not, the template is away.
func (s *session) mayList(p *pipelinefile.Pipeline) bool {
	may := s.mayAsk(p)
	if !may {
		s.away = append(s.away, p.Origin())
	}
	return may
}

// mayAsk is the rule of mayList, as for sources: not offline, and for a file that was found only on a host of this
// repository, with a credential that may go there.
func (s *session) mayAsk(p *pipelinefile.Pipeline) bool {
	if s.Offline || s.Only {
		return false
	}
	if s.File != "" {
		return true
	}
	of := transport.Remote{URL: p.Spec.Sources[0].URL}
	credentials, found := p.Credentials(s.Getenv)
	if found.HasErrors() || !s.isNear(of.URL) {
		return false
	}
	of.Auth = credentials.Sources[0]
	return mayCarry(s, of.URL, of.Auth) && of.Check() == nil
}

// isNear reports whether a URL is on a host of a remote of the repository at hand, or on this machine.
func (s *session) isNear(at string) bool {
	host := hostOf(at)
	if host == "" {
		return true
	}
	for _, t := range s.trees {
		for _, remote := range checkout.Remotes(t.top) {
			if hostOf(remote) == host && (!isPlain(at) || isPlain(remote)) {
				return true
			}
		}
	}
	return false
}

// isPlain reports whether everybody on the way can read what is sent to a repository.
func isPlain(at string) bool { return strings.HasPrefix(strings.ToLower(at), "http://") }

// hostOf returns the host of a repository's URL, or nothing for a folder.
func hostOf(at string) string {
	host, _, _ := strings.Cut(pipeline.RepositoryAddress(at), "/")
	return host
}

// isUnreachable reports whether a repository cannot be read, for whatever reason.
func isUnreachable(err error) bool {
	return slices.ContainsFunc([]error{transport.ErrUnreachable, transport.ErrAuth, transport.ErrNoKey,
		transport.ErrHostKey, transport.ErrRepositoryNotFound}, func(kind error) bool { return errors.Is(err, kind) })
}
