package gitsync

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"path"
	"reflect"
	"strings"
	"sync"
	"time"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/agentry-dev/agentry/gitsync/pipeline"
	"github.com/agentry-dev/agentry/gitsync/repo"
	"github.com/agentry-dev/agentry/gitsync/repo/transport"
	"github.com/agentry-dev/agentry/gitsync/signature"
	"github.com/agentry-dev/agentry/inputs/chart"
	"github.com/agentry-dev/agentry/inputs/tree"
)

// Base has the credentials of build.remotes[i].
type Base struct {
	Auth   transport.Auth
	Verify signature.Keyring // an empty keyring accepts any commit
}

func (b Base) equal(other Base) bool {
	return b.Auth.Equal(other.Auth) && reflect.DeepEqual(b.Verify, other.Verify)
}

// bases are the repositories and files that kustomizations name as bases and resources.
type bases struct {
	options *Options

	mu      sync.Mutex
	allowed []base
	repos   map[string]*repo.Repo // by address
	there   map[string]*repo.Repo // commits that were in the cache, with a repository that has them
	signed  map[string]bool       // commits whose signature was accepted, by address and id
}

// base is an entry of build.remotes.
type base struct {
	url    string
	auth   transport.Auth
	verify *signature.Verifier
}

var _ chart.Repositories = (*bases)(nil)

// newBases returns the bases of a pipeline, or nil if it has none.
func newBases(b pipeline.Build, options *Options) *bases {
	if len(b.Remotes) == 0 && !options.AnyRemote {
		return nil
	}
	return &bases{options: options, repos: map[string]*repo.Repo{},
		there: map[string]*repo.Repo{}, signed: map[string]bool{}}
}

// use replaces the entries and their credentials.
func (b *bases) use(entries []pipeline.Remote, creds []Base) error {
	if b == nil {
		return nil
	}
	var allowed []base
	for i, e := range entries {
		one := base{url: e.URL}
		if i < len(creds) {
			v, err := creds[i].Verify.Verifier()
			if err != nil {
				return fmt.Errorf("build.remotes[%d].verify: %w", i, err)
			}
			one.auth, one.verify = creds[i].Auth, v
		}
		if e.Verify != nil && one.verify == nil {
			return fmt.Errorf("build.remotes[%d].verify: there is no key", i)
		}
		allowed = append(allowed, one)
	}
	b.close()
	b.mu.Lock()
	defer b.mu.Unlock()
	b.allowed = allowed
	clear(b.signed)
	return nil
}

// close closes the repositories. Those that are needed later are opened again.
func (b *bases) close() {
	if b == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, r := range b.repos {
		r.Close()
	}
	clear(b.repos)
	clear(b.there)
}

// of returns the entry with the longest URL that an address is at or below.
func (b *bases) of(address string) (best base, rest string, found bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, e := range b.allowed {
		const below = "/-" // the URL may be a host
		prefix := strings.TrimSuffix(pipeline.RepositoryAddress(strings.TrimSuffix(e.url, "/")+below), below)
		after, isBelow := strings.CutPrefix(address, prefix)
		if pipeline.RepositoryAddress(e.url) == address { // however .git is written
			after, isBelow = "", true
		}
		if isBelow && (after == "" || after[0] == '/') && (!found || len(after) < len(rest)) {
			best, rest, found = e, after, true
		}
	}
	return best, rest, found
}

// Address implements [chart.Repositories]. What an entry allows is fetched by the protocol of the entry, whatever the
// kustomization says, because its credentials are for that.
func (b *bases) Address(raw string) (at string, isAllowed bool) {
	where, query, _ := strings.Cut(raw, "?")
	if query != "" {
		query = "?" + query
	}
	if _, err := transport.NormaliseURL(where); err != nil {
		return "", false
	}
	address := pipeline.RepositoryAddress(where)
	e, rest, found := b.of(address)
	if isAbsolute := !found || rest != ""; isAbsolute && strings.HasSuffix(where, ".git") &&
		!strings.HasSuffix(address, ".git") { // not every server finds a repository without it
		rest, address = rest+".git", address+".git"
	}
	if written, has := escaped(where); has && found {
		if below, isBelow := strings.CutPrefix(written+"/", hostAndPath(e.url)+"/"); isBelow {
			rest = strings.TrimSuffix("/"+below, "/")
		}
	} else if has {
		address = written
	}
	if found {
		return strings.TrimSuffix(e.url, "/") + rest + query, true
	}
	switch scheme, _, _ := strings.Cut(where, "://"); {
	case !b.options.AnyRemote || strings.EqualFold(scheme, "file"):
		return "", false
	case strings.EqualFold(scheme, "http"):
		return "http://" + address + query, true
	}
	return "https://" + address + query, true
}

// escaped returns the host and path of a URL as they are written, if the path has encoded slashes, which are a part of
// a name there: files of GitLab's API have them. A path that leads up has none.
func escaped(raw string) (address string, has bool) {
	u, err := url.Parse(raw)
	if err != nil || !strings.Contains(strings.ToLower(u.EscapedPath()), "%2f") || path.Clean(u.Path) != u.Path {
		return "", false
	}
	return hostAndPath(raw), true
}

// hostAndPath returns them as they are written, without a slash at the end.
func hostAndPath(raw string) string {
	u, err := url.Parse(raw)
	if err != nil {
		return ""
	}
	return strings.ToLower(u.Host) + strings.TrimSuffix(u.EscapedPath(), "/")
}

// entry returns the entry that allows an address. Without one, only public addresses are asked.
func (b *bases) entry(address string) base {
	where, _, _ := strings.Cut(address, "?")
	e, _, found := b.of(pipeline.RepositoryAddress(where))
	if !found {
		e.auth.Connection.PublicOnly = !b.options.AllowPrivateRemotes
	}
	return e
}

// Access implements [chart.Repositories].
func (b *bases) Access(address string) (chart.Access, error) {
	e := b.entry(address)
	if e.verify != nil {
		return chart.Access{}, fmt.Errorf("build.remotes demands signed commits of %s, and a file is not signed", e.url)
	}
	return chart.Access{Connection: e.auth.Connection, Username: e.auth.Username, Password: e.auth.Password}, nil
}

// open returns the repository at an address.
func (b *bases) open(address string) (*repo.Repo, error) {
	e := b.entry(address)
	b.mu.Lock()
	defer b.mu.Unlock()
	if known := b.repos[address]; known != nil {
		return known, nil
	}
	r, err := b.options.Pool.Open(transport.Remote{URL: address, Auth: e.auth})
	if err != nil {
		return nil, err
	}
	b.repos[address] = r
	return r, nil
}

// Resolve implements [chart.Repositories].
func (b *bases) Resolve(ctx context.Context, address, ref string) (string, error) {
	r, err := b.open(address)
	if err != nil {
		return "", err
	}
	if plumbing.IsHash(ref) {
		ref = strings.ToLower(ref)
		if err = b.Fetch(ctx, address, ref); errors.Is(err, transport.ErrRefNotFound) {
			err = &chart.NoRefError{Err: err}
		}
		return ref, err
	}
	refs, err := r.List(ctx)
	if err != nil {
		return "", err
	}
	tip, err := refs.Named(ref)
	if errors.Is(err, transport.ErrRefNotFound) {
		err = &chart.NoRefError{Err: err}
	}
	if err != nil {
		return "", err
	}
	tips, err := r.Fetch(ctx, repo.Ref{Name: tip.Ref})
	if err != nil {
		return "", err
	}
	return tips[0].Commit.String(), b.verify(address, r, tips[0].Commit)
}

// Fetch implements [chart.Repositories].
func (b *bases) Fetch(ctx context.Context, address, commit string) error {
	r, err := b.open(address)
	if err != nil {
		return err
	}
	if _, err := r.FetchSince(ctx, time.Time{}, repo.Ref{Commit: commit}); err != nil {
		return err
	}
	return b.verify(address, r, plumbing.NewHash(commit))
}

// verify checks the signature of a commit, if commits of its repository must be signed.
func (b *bases) verify(address string, r *repo.Repo, commit plumbing.Hash) error {
	e, id := b.entry(address), address+" "+commit.String()
	b.mu.Lock()
	isKnown := b.signed[id]
	b.mu.Unlock()
	if e.verify == nil || isKnown {
		return nil
	}
	if err := e.verify.Accept(r, commit); err != nil {
		return fmt.Errorf("commit %s %w: %w", pipeline.ShortID(commit.String()), chart.ErrUnverified, err)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.signed[id] = true
	return nil
}

// Has implements [chart.Repositories].
func (b *bases) Has(address, commit string) bool {
	r, err := b.open(address)
	return err == nil && b.isThere(r, commit) == nil && b.verify(address, r, plumbing.NewHash(commit)) == nil
}

// isThere returns an error unless the cache has a commit of a repository.
func (b *bases) isThere(r *repo.Repo, commit string) error {
	b.mu.Lock()
	isKnown := b.there[commit] == r
	b.mu.Unlock()
	if isKnown {
		return nil
	}
	isCached, err := r.HasCached(context.Background(), commit) // it waits for the disk only
	if err == nil && !isCached {
		err = fmt.Errorf("commit %s is not in the cache", pipeline.ShortID(commit))
	}
	if err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.there[commit] = r
	return nil
}

// Open implements [chart.Repositories].
func (b *bases) Open(address, commit string) (tree.Files, func(), error) {
	r, err := b.open(address)
	if err != nil {
		return nil, nil, err
	}
	if err := b.isThere(r, commit); err != nil { // positions are asked for after a pass, too
		return nil, nil, err
	}
	rd := r.Reader()
	c, err := rd.Commit(plumbing.NewHash(commit))
	if err != nil {
		rd.Close()
		return nil, nil, fmt.Errorf("read commit %s: %w", pipeline.ShortID(commit), err)
	}
	return rd.Files(c.Tree), func() { rd.Close() }, nil
}
