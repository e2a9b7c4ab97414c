package repo

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/Masterminds/semver/v3"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/capability"

	"github.com/agentry-dev/agentry/gitsync/repo/transport"
)

// DefaultBranch is the branch of an empty [Ref].
const DefaultBranch = "main"

const (
	headsPrefix = "refs/heads/"
	tagsPrefix  = "refs/tags/"
)

// Ref selects a commit of a remote like spec.ref of Flux's GitRepository: Commit takes precedence over Name,
// Name over SemVer, SemVer over Tag, Tag over Branch. The zero value is the branch DefaultBranch.
type Ref struct {
	Branch string
	Tag    string
	SemVer string // a range such as ">=1.2 <2", which selects the tag with the highest version
	Name   string // a full name such as refs/pull/7/head
	Commit string // 40 hexadecimal digits; Branch says where to search

	// Optional makes a missing ref (or an empty repository) a Tip without a commit instead of an error. It does not
	// apply to Commit.
	Optional bool
}

// String describes the selection for errors.
func (r Ref) String() string {
	switch {
	case r.Commit != "":
		return "commit " + r.Commit
	case r.Name != "":
		return "ref " + r.Name
	case r.SemVer != "":
		return "tag in range " + r.SemVer
	case r.Tag != "":
		return "tag " + r.Tag
	}
	return "branch " + r.branch()
}

func (r Ref) branch() string {
	if r.Branch == "" {
		return DefaultBranch
	}
	return r.Branch
}

// Tip is the value of a ref at one moment.
type Tip struct {
	Ref    string        // full name; empty if the commit was requested by its hash
	Value  plumbing.Hash // the value of the ref: the commit or, for an annotated tag, the tag object
	Commit plumbing.Hash // the commit; zero if the ref does not exist
}

// Exists reports whether the ref exists.
func (t Tip) Exists() bool { return !t.Commit.IsZero() }

// Refs is the refs of a remote at one moment.
type Refs struct {
	remote string
	tips   map[string]Tip
	moved  map[string]Tip // refs that this process has pushed since
	head   string         // the ref that HEAD points to, or empty
}

// NewRefs returns the refs that a remote advertised.
func NewRefs(remote string, adv transport.Advertisement) *Refs {
	refs := &Refs{remote: remote, tips: make(map[string]Tip, len(adv.References))}
	for name, value := range adv.References {
		tip := Tip{Ref: name, Value: value, Commit: value}
		if peeled, ok := adv.Peeled[name]; ok {
			tip.Commit = peeled
		}
		refs.tips[name] = tip
	}
	for _, symref := range adv.Capabilities.Get(capability.SymRef) {
		if target, ok := strings.CutPrefix(symref, "HEAD:"); ok {
			refs.head = target
		}
	}
	return refs
}

// noRefs are the refs of a [Local] Repo.
func (r *Repo) noRefs() *Refs { return &Refs{remote: r.url} }

// Remote returns the normalised URL of the repository.
func (r *Refs) Remote() string { return r.remote }

// Tip returns the tip of the ref with the full name. If the ref is missing, Exists returns false.
func (r *Refs) Tip(name string) Tip {
	if tip, ok := r.moved[name]; ok {
		return tip
	}
	if tip, ok := r.tips[name]; ok {
		return tip
	}
	return Tip{Ref: name}
}

// Named returns the tip of the ref that git fetch would fetch by a name: of that full name, or else the tag, or else
// the branch. An empty name is the default branch. Errors are those of [Refs.Resolve].
func (r *Refs) Named(name string) (Tip, error) {
	names := []string{name, "refs/" + name, tagsPrefix + name, headsPrefix + name}
	if name == "" {
		names = []string{r.head}
	}
	for _, full := range names {
		if tip := r.Tip(full); strings.HasPrefix(full, "refs/") && tip.Exists() {
			return tip, nil
		}
	}
	switch {
	case r.isEmpty():
		return Tip{}, fmt.Errorf("%s: %w", r.remote, ErrEmptyRepository)
	case name == "":
		return Tip{}, fmt.Errorf("the default branch of %s: %w", r.remote, transport.ErrRefNotFound)
	}
	return Tip{}, fmt.Errorf("%s has neither a tag nor a branch %.100q: %w; %s", r.remote, name,
		transport.ErrRefNotFound, suggestOf("tags and branches",
			append(r.Names(tagsPrefix), r.Names(headsPrefix)...), name, strings.TrimPrefix(r.head, headsPrefix)))
}

// isEmpty reports whether the remote has no refs.
func (r *Refs) isEmpty() bool { return len(r.tips)+len(r.moved) == 0 }

// Names returns the names of the refs below a prefix such as "refs/heads/", sorted and without the prefix.
func (r *Refs) Names(prefix string) []string {
	var out []string
	for _, tips := range []map[string]Tip{r.tips, r.moved} {
		for name := range tips {
			if short, ok := strings.CutPrefix(name, prefix); ok {
				out = append(out, short)
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// TagsAt returns the names of the tags of a commit, sorted, as far as they are known: it sends no request.
func (r *Repo) TagsAt(commit plumbing.Hash) (out []string) {
	known := r.listings.since(time.Time{})
	if known == nil || known.err != nil {
		return nil
	}
	for _, name := range known.refs.Names(tagsPrefix) {
		if known.refs.Tip(tagsPrefix+name).Commit == commit {
			out = append(out, name)
		}
	}
	return out
}

// Resolve returns the tip of a Ref. If it does not exist, the error is [transport.ErrRefNotFound] with a suggestion,
// or [ErrEmptyRepository].
func (r *Refs) Resolve(ref Ref) (Tip, error) {
	tip, err := r.resolve(ref)
	missing := errors.Is(err, transport.ErrRefNotFound) || errors.Is(err, ErrEmptyRepository)
	if ref.Optional && missing {
		return Tip{Ref: tip.Ref}, nil
	}
	if err != nil {
		return Tip{}, fmt.Errorf("%s of %s: %w", ref, r.remote, err)
	}
	return tip, nil
}

func (r *Refs) resolve(ref Ref) (Tip, error) {
	if ref.Commit != "" {
		if !plumbing.IsHash(ref.Commit) {
			return Tip{}, errors.New("a commit hash must have 40 hexadecimal digits")
		}
		hash := plumbing.NewHash(ref.Commit)
		return Tip{Value: hash, Commit: hash}, nil
	}
	switch {
	case ref.Name != "":
		return r.find("", ref.Name)
	case ref.SemVer != "":
		return r.highest(ref.SemVer)
	case ref.Tag != "":
		return r.find(tagsPrefix, ref.Tag)
	}
	return r.find(headsPrefix, ref.branch())
}

func (r *Refs) find(prefix, short string) (Tip, error) {
	name := prefix + short
	if !strings.HasPrefix(name, "refs/") {
		return Tip{}, errors.New(`the full name of a ref must start with "refs/"`)
	}
	if tip := r.Tip(name); tip.Exists() {
		return tip, nil
	}
	if r.isEmpty() {
		return Tip{Ref: name}, ErrEmptyRepository
	}
	return Tip{Ref: name}, fmt.Errorf("%w; %s", transport.ErrRefNotFound, r.suggest(prefix, short))
}

// highest returns the tag with the highest version in a range. As in Flux, a tag may start with a v. Of tags with
// equal versions, the last one by name wins.
func (r *Refs) highest(expr string) (Tip, error) {
	constraint, err := semver.NewConstraint(expr)
	if err != nil {
		return Tip{}, fmt.Errorf("parse the range: %w", err)
	}
	if r.isEmpty() {
		return Tip{}, ErrEmptyRepository
	}
	var best *semver.Version
	var name string
	for _, tag := range r.Names(tagsPrefix) {
		v, err := semver.StrictNewVersion(strings.TrimPrefix(tag, "v"))
		if err != nil || !constraint.Check(v) {
			continue
		}
		if best == nil || !v.LessThan(best) {
			best, name = v, tag
		}
	}
	if best == nil {
		return Tip{}, fmt.Errorf("%w; %s", transport.ErrRefNotFound, r.suggest(tagsPrefix, ""))
	}
	return r.Tip(tagsPrefix + name), nil
}

// List requests the refs of the remote, without the cache. An empty repository is not an error.
func (r *Repo) List(ctx context.Context) (*Refs, error) {
	if r.local {
		return r.noRefs(), nil
	}
	began := time.Now()
	refs, err := list(ctx, r.readClient(), transport.UploadPack)
	r.opts.observe(r.url, OperationList, began, err)
	return refs, err
}

// list requests the refs from a program. A remote can hide refs from one of the two programs.
func list(ctx context.Context, c *transport.Client, program transport.Program) (*Refs, error) {
	session, err := c.Start(ctx, program)
	if err != nil {
		return nil, err
	}
	_ = session.Close() // the refs are complete
	return NewRefs(c.URL(), session.Advertised), nil
}
