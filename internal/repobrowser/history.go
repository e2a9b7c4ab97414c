package repobrowser

import (
	"encoding/json"
	"errors"
	"path"
	"time"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/agentry-dev/agentry/gitsync/branch"
	"github.com/agentry-dev/agentry/gitsync/committext"
	"github.com/agentry-dev/agentry/gitsync/publish"
	"github.com/agentry-dev/agentry/gitsync/repo/object"
	"github.com/agentry-dev/agentry/internal/explainers"
)

const (
	// MaxCommits limits the commits of a history.
	MaxCommits = 50
	// maxWalk limits the commits of a branch that are examined, because pipelines can share a branch.
	maxWalk = 1000
)

// History has the latest commits of a pipeline on its output branch.
type History struct {
	Commits []Commit // newest first
	// HasMore means that there are older commits.
	HasMore bool
}

// Commit is a commit of an output branch.
type Commit struct {
	ID, Subject, Author string
	When                time.Time
	// Inputs are the commits that it was rendered from. It has none if somebody else made it.
	Inputs []Input
	// Parent is the previous commit, or empty if this is the first one of the branch.
	Parent string
	// Oldest means that the previous commit is not in the cache, so the changes are unknown.
	Oldest bool
}

// Input is an input commit. Subject and Author are known only for the first.
type Input struct{ URL, Ref, Commit, Subject, Author string }

// History returns the latest commits of a pipeline on its output branch, at most limit. A merge counts as one commit.
func (s *Store) History(pipeline string, limit int) (History, *explainers.Refusal) {
	v, refused := s.open(pipeline)
	if refused != nil {
		return History{}, refused
	}
	defer v.close()
	out, refused := v.output()
	if refused != nil {
		return History{}, refused
	}
	h, err := out.history(min(limit, MaxCommits))
	if err != nil {
		return History{}, unreadable(err)
	}
	return h, nil
}

// history follows the first parents from the tip, and skips commits that change nothing at the path.
func (o *output) history(limit int) (out History, err error) {
	next, err := o.Commit(o.tip)
	for n := 0; err == nil && next != nil; n++ {
		if n == maxWalk || len(out.Commits) == limit {
			out.HasMore = true
			return out, nil
		}
		var c *Commit
		c, next, err = o.step(next)
		if c != nil {
			out.Commits = append(out.Commits, *c)
			out.HasMore = c.Oldest
		}
	}
	return out, err
}

// step returns the commit as an entry of the history, or nil if it does not belong to the pipeline, and the previous
// commit, or nil if that is not in the cache.
func (o *output) step(of *object.Commit) (c *Commit, before *object.Commit, err error) {
	c = &Commit{ID: of.Hash.String(), Author: committext.Person(of.Author),
		When: committext.SafeDate(of.Committer.When)}
	c.Subject, _ = committext.SplitMessage(of.Message)
	if len(of.Parents) > 0 {
		before, err = o.Commit(of.Parents[0])
		if errors.Is(err, object.ErrNotFound) {
			c.Oldest, err = true, nil // the end of a shallow history
		}
		if err != nil {
			return nil, nil, err
		}
	}
	now, err := o.metadata(of)
	if err != nil {
		return nil, nil, err
	}
	var old entries
	if before != nil {
		c.Parent = before.Hash.String()
		if old, err = o.metadata(before); err != nil {
			return nil, nil, err
		}
	}
	if now.folder == old.folder || publish.OriginOf(of.Message).IsElsewhere(o.path) {
		return nil, before, nil
	}
	if now.metadata != old.metadata && !now.metadata.IsZero() {
		c.Inputs, err = o.inputs(of)
	}
	return c, before, err
}

// entries has the hashes of the output folder and of the file that every commit of agentry rewrites, or zero hashes.
type entries struct{ folder, metadata plumbing.Hash }

func (o *output) metadata(of *object.Commit) (out entries, err error) {
	if out.folder, err = o.hashOf(of, o.path); err == nil {
		out.metadata, err = o.hashOf(of, path.Join(o.path, branch.MetadataFile))
	}
	return out, err
}

func (o *output) hashOf(of *object.Commit, name string) (plumbing.Hash, error) {
	entry, err := o.Lookup(of.Tree, name)
	if errors.Is(err, object.ErrPathNotFound) {
		return plumbing.ZeroHash, nil
	}
	return entry.Hash, err
}

// inputs returns the input commits that an output commit names.
func (o *output) inputs(of *object.Commit) (out []Input, err error) {
	text, err := branch.ReadFile(o.Reader, of.Tree, path.Join(o.path, branch.MetadataFile))
	var m publish.Metadata
	if err != nil || json.Unmarshal(text, &m) != nil {
		return nil, err
	}
	for i, src := range m.Sources {
		if i == maxInputs {
			break
		}
		in := Input{URL: committext.OneLine(src.URL), Ref: committext.OneLine(src.Ref), Commit: src.Commit}
		if !plumbing.IsHash(in.Commit) {
			continue // anybody can have written it
		}
		if in.Commit == m.DrySHA {
			in.Subject, in.Author = committext.OneLine(m.Subject), committext.OneLine(m.Author)
		}
		for _, r := range m.References {
			if in.Subject == "" && r.Commit.SHA == in.Commit {
				in.Subject, in.Author = committext.OneLine(r.Commit.Subject), committext.OneLine(r.Commit.Author)
			}
		}
		out = append(out, in)
	}
	return out, nil
}

// maxInputs limits the input commits that are named for one output commit.
const maxInputs = 20

// unreadable returns the refusal for a cache that cannot be read.
func unreadable(err error) *explainers.Refusal {
	return &explainers.Refusal{Status: 503,
		Message: "the cache of the output branch cannot be read: " + committext.OneLine(err.Error()),
		Hint:    "the next pass repairs it"}
}
