package gitsync

import (
	"errors"
	"fmt"

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
	tip, err := rd.Commit(from.branch.Commit)
	if err != nil {
		return err
	}
	ours, theirs := from.inputs.Origin(), publish.OriginOf(tip.Message)
	if !theirs.Contests(ours) {
		return nil
	}
	isBehind, err := p.isBehind(tip.Hash, rd)
	if err != nil {
		return err
	}
	inTurn, err := takeTurns(tip, ours, rd)
	if err != nil || isBehind && !inTurn {
		return err
	}
	d := diag.Diagnostic{
		Severity: diag.Error, Code: diag.OutputContested,
		Message: fmt.Sprintf("another agentry writes to branch %s of %s, with another specification of pipeline %s: its commit %.12s is of the same inputs and says %s, this one is %s; nothing is written",
			output.Branch, p.output.URL(), p.pipeline.Metadata.Name, tip.Hash, theirs, ours),
		Hint: "run the pipeline in one place, or everywhere from the same file; or give one of the two another output.branch or output.path; or set output.adopt: true here, to take the branch over",
	}
	p.report.add(plan.Findings{Diags: diag.List{d}, Refused: &d})
	return nil
}

// isBehind reports whether a tip is nothing new: this Syncer has seen no tip, or one that has it in its history.
func (p *pass) isBehind(tip plumbing.Hash, rd *object.Reader) (bool, error) {
	if p.seen.IsZero() {
		return true, nil
	}
	behind := false
	err := ancestors(rd, p.seen, func(c *object.Commit) bool {
		behind = c.Hash == tip
		return !behind
	})
	return behind, err
}

// takeTurns reports whether the last commits were made in turn from the tip's specification and from ours.
func takeTurns(tip *object.Commit, ours publish.Origin, rd *object.Reader) (bool, error) {
	turns, next := 0, [2]publish.Origin{publish.OriginOf(tip.Message), ours}
	err := ancestors(rd, tip.Hash, func(c *object.Commit) bool {
		if !publish.OriginOf(c.Message).Equal(next[turns%2]) {
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
