package gitsync

import (
	"errors"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/gitsync/plan"
	"github.com/agentry-dev/agentry/gitsync/publish"
	"github.com/agentry-dev/agentry/gitsync/repo/object"
)

// maxTurns is how many commits two specifications may make in turn from the same inputs.
const maxTurns = 4

// refuseContest refuses to write if somebody else writes to the output branch with another specification of this
// pipeline or version of agentry, because the two would replace each other's output for ever. That is so if this Syncer
// has pushed or confirmed the branch and then finds the other's output of the same inputs, or, for those that make one
// pass, if the last commits were made in turn. An edited specification has a new Syncer, which has confirmed nothing.
func (p *pass) refuseContest(from *start, rd *object.Reader) error {
	output := &p.pipeline.Spec.Output
	if from.branch.Commit.IsZero() || output.Adopt {
		return nil
	}
	ours := from.inputs.Origin()
	last, err := lastOf(ours.Path, from.branch.Commit, rd)
	if err != nil || last == nil {
		return err
	}
	theirs := publish.OriginOf(last.Message)
	if !theirs.Contests(ours) {
		return nil
	}
	isBehind, err := p.isBehind(last.Hash, rd)
	if err != nil {
		return err
	}
	inTurn, err := takeTurns(last, ours, rd)
	if err != nil || isBehind && !inTurn {
		return err
	}
	d := diag.OutputContested.At("",
		"another agentry writes to branch %s of %s, with another specification of pipeline %s: its commit %.12s "+
			"is of the same inputs and says %s, this one is %s; nothing is written",
		output.Branch, p.output.URL(), p.pipeline.Metadata.Name, last.Hash, theirs, ours).
		WithHint("run the pipeline in one place, or everywhere from the same file; or give one of the two " +
			"another " +
			"output.branch or output.path; or set output.adopt: true here, to take the branch over")
	p.report.add(plan.Findings{Diags: diag.List{d}, Refused: &d})
	return nil
}

// lastOf returns the last commit that is not of a pipeline with another output.path. It is nil if there is none among
// the last commits.
func lastOf(outputPath string, tip plumbing.Hash, rd *object.Reader) (*object.Commit, error) {
	var last *object.Commit
	err := ancestors(rd, tip, func(c *object.Commit) bool {
		if !publish.OriginOf(c.Message).IsElsewhere(outputPath) {
			last = c
		}
		return last == nil
	})
	return last, err
}

// isBehind reports whether a commit is nothing new: this Syncer has seen no tip, or one that has it in its history.
func (p *pass) isBehind(last plumbing.Hash, rd *object.Reader) (bool, error) {
	if p.seen.IsZero() {
		return true, nil
	}
	behind := false
	err := ancestors(rd, p.seen, func(c *object.Commit) bool {
		behind = c.Hash == last
		return !behind
	})
	return behind, err
}

// takeTurns reports whether the last commits at this path were made in turn from another specification and from ours.
func takeTurns(last *object.Commit, ours publish.Origin, rd *object.Reader) (bool, error) {
	turns, next := 0, [2]publish.Origin{publish.OriginOf(last.Message), ours}
	err := ancestors(rd, last.Hash, func(c *object.Commit) bool {
		origin := publish.OriginOf(c.Message)
		if origin.IsElsewhere(ours.Path) {
			return true
		}
		if !origin.Equal(next[turns%2]) {
			return false
		}
		turns++
		return turns < maxTurns
	})
	return turns == maxTurns, err
}

// ancestors calls yield with a commit and its first ancestors, until it returns false or the cache has no more.
func ancestors(rd *object.Reader, from plumbing.Hash, yield func(*object.Commit) bool) error {
	const most = 50
	for range most {
		c, err := rd.Commit(from)
		if errors.Is(err, object.ErrNotFound) {
			return nil
		}
		if err != nil || !yield(c) || len(c.Parents) == 0 {
			return err
		}
		from = c.Parents[0]
	}
	return nil
}
