package publish

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/agentry-dev/agentry/gitsync/repo"
	"github.com/agentry-dev/agentry/gitsync/repo/limit"
	"github.com/agentry-dev/agentry/gitsync/repo/object"
)

// NotesRef is the ref of the notes that tell gitops-promoter which inputs a proposed commit is up to date with, even if
// they changed nothing.
const NotesRef = "refs/notes/hydrator.metadata"

// Limits of the notes.
const (
	// maxNotes is the number of notes above which agentry deletes its notes on unreachable commits, because each push
	// writes the list of all notes.
	maxNotes = 500
	// maxNoteBytes limits the size of a note.
	maxNoteBytes = 64 << 10
	// maxNoteHistory limits the search for reachable commits.
	maxNoteHistory = 10_000
	// notesTimeout limits a push of notes that no pass waits for, closeTimeout one that closing a pipeline waits for.
	notesTimeout = time.Minute
	closeTimeout = 5 * time.Second
)

// Note says that a commit is up to date with the inputs of a lock file's commit.
type Note struct {
	Writer
	Pipeline    string
	Commit, Dry plumbing.Hash
}

// noteBody is the text of a note. Promotion tools read drySha. The name of the pipeline marks notes of agentry, which
// does not touch other notes.
type noteBody struct {
	DrySHA   string `json:"drySha"`
	Pipeline string `json:"agentry,omitempty"`
}

// LastNote is the last note of a pipeline. The zero value means none.
type LastNote struct{ commit, dry plumbing.Hash }

// Note adds a note with [Batches.Note], unless it is equal to the last one.
func (last *LastNote) Note(ctx context.Context, b *Batches, n Note) error {
	next := LastNote{n.Commit, n.Dry}
	if *last == next {
		return nil
	}
	err := b.Note(ctx, n)
	if err == nil {
		*last = next
	}
	return err
}

// Note adds a note, which replaces a waiting one of the pipeline. It returns the error of the repository's last push of
// notes, because it does not wait for the next push.
func (b *Batches) Note(ctx context.Context, n Note) error {
	g := b.group(n.Repo)
	b.mu.Lock()
	g.notes[n.Pipeline] = n
	g.tips[n.Pipeline] = n.Commit
	refused := g.refused
	if b.delay > 0 && g.timer == nil {
		b.timers.Add(1)
		g.timer = time.AfterFunc(b.delay, func() { b.expire(g) })
	}
	b.mu.Unlock()
	if b.delay > 0 {
		return refused
	}
	return b.flush(ctx, g)
}

// Renew replaces the credentials for the waiting note of a pipeline.
func (b *Batches) Renew(pipeline string, pusher *repo.Pusher, r *repo.Repo) {
	g := b.group(r)
	b.whenIdle(pipeline, g, func() {
		if n, waits := g.notes[pipeline]; waits {
			n.Repo, n.Pusher = r, pusher
			g.notes[pipeline] = n
		}
	})
}

// Remove pushes the waiting note of a pipeline, and drops it if that fails. Call it before closing the pipeline's
// credentials. It does not push if the last push failed, because all pipelines of a fleet may be closing.
func (b *Batches) Remove(pipeline string, r *repo.Repo) {
	g := b.group(r)
	b.mu.Lock()
	_, waits := g.notes[pipeline]
	waits = waits && g.refused == nil
	b.mu.Unlock()
	if waits {
		ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
		defer cancel()
		_ = b.flush(ctx, g) // nothing depends on a note
	}
	b.whenIdle(pipeline, g, func() { delete(g.notes, pipeline) })
}

// notesPush is a running push of notes.
type notesPush struct {
	pipelines []string // the pipelines whose repositories, connections and keys it uses
	stop      context.CancelCauseFunc
	done      chan struct{}
}

// errNotesPanicked is the error of a push of notes that panicked.
var errNotesPanicked = errors.New("the push of notes panicked")

// errClosing ends a push of notes that takes too long for a pipeline that is closing.
var errClosing = errors.New("a pipeline ended or got new credentials meanwhile")

// whenIdle calls do under Batches.mu once no push uses the repository and keys of the pipeline, so that the caller can
// close them afterwards.
func (b *Batches) whenIdle(pipeline string, g *batchGroup, do func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for g.push != nil && slices.Contains(g.push.pipelines, pipeline) {
		running := g.push
		b.mu.Unlock()
		select {
		case <-running.done:
		case <-time.After(closeTimeout):
			running.stop(errClosing)
			<-running.done
		}
		b.mu.Lock()
	}
	do()
}

// expire pushes the waiting notes when the timer fires.
func (b *Batches) expire(g *batchGroup) {
	defer b.timers.Done()
	b.mu.Lock()
	g.timer = nil
	b.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), notesTimeout)
	defer cancel()
	_ = b.flush(ctx, g) // the next pass reports the error
}

// flush pushes the waiting notes of a repository in one commit. After an error they wait for the next push.
func (b *Batches) flush(ctx context.Context, g *batchGroup) error {
	select {
	case g.noting <- struct{}{}:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	defer func() { <-g.noting }()
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	batch, tips := b.begin(g, stop)
	if len(batch) == 0 {
		return nil
	}
	err := errNotesPanicked
	defer func() { b.end(g, batch, err) }() // even after a panic, because others wait for done
	err = pushNotes(ctx, batch, tips)
	return err
}

// begin takes the waiting notes, and also returns the commits with the last notes of all pipelines.
func (b *Batches) begin(g *batchGroup, stop context.CancelCauseFunc) (batch []Note, tips map[string]plumbing.Hash) {
	b.mu.Lock()
	defer b.mu.Unlock()
	batch = slices.SortedFunc(maps.Values(g.notes), func(a, b Note) int {
		return strings.Compare(a.Pipeline, b.Pipeline)
	})
	clear(g.notes)
	if len(batch) > 0 {
		g.push = &notesPush{stop: stop, done: make(chan struct{})}
		for _, n := range batch {
			g.push.pipelines = append(g.push.pipelines, n.Pipeline)
		}
	}
	return batch, maps.Clone(g.tips)
}

// end records the result of a push. After an error it puts the notes back, except where newer ones replace them.
func (b *Batches) end(g *batchGroup, batch []Note, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	g.refused = err
	for _, n := range batch {
		if _, newer := g.notes[n.Pipeline]; err != nil && !newer {
			g.notes[n.Pipeline] = n
		}
	}
	close(g.push.done)
	g.push = nil
}

// pushNotes adds notes to the ref.
func pushNotes(ctx context.Context, batch []Note, tips map[string]plumbing.Hash) error {
	lead := batch[0].Writer
	for _, n := range batch {
		if n.Author.When.After(lead.Author.When) {
			lead = n.Writer
		}
	}
	_, err := lead.extend(ctx, NotesRef, time.Now(),
		func(rd *object.Reader, w *object.Writer, tip repo.Tip) (plumbing.Hash, error) {
			old, err := treeOf(rd, tip)
			if err != nil {
				return plumbing.ZeroHash, err
			}
			tree, err := addNotes(rd, w, old, batch)
			if err != nil {
				return plumbing.ZeroHash, err
			}
			if tree == old {
				return plumbing.ZeroHash, nil
			}
			if tree, err = dropNotes(rd, w, tree, tips); err != nil {
				return plumbing.ZeroHash, err
			}
			return lead.commit(w, tip, tree, "Notes added by agentry\n")
		})
	return err
}

// addNotes adds the missing notes.
func addNotes(rd *object.Reader, w *object.Writer, tree plumbing.Hash, batch []Note) (plumbing.Hash, error) {
	before := tree
	for _, n := range batch {
		old, err := rd.Note(before, n.Commit, maxNoteBytes)
		if err != nil && !errors.Is(err, object.ErrPathNotFound) && !errors.Is(err, limit.ErrTooLarge) {
			return tree, err
		}
		var body noteBody
		if json.Unmarshal(old, &body) == nil && body.DrySHA == n.Dry.String() {
			continue
		}
		text, err := json.Marshal(noteBody{n.Dry.String(), n.Pipeline})
		if err != nil {
			return tree, err
		}
		if tree, err = w.AddNote(tree, n.Commit, text); err != nil {
			return tree, err
		}
	}
	return tree, nil
}

// dropNotes removes agentry's notes on unreachable commits, which are proposals that were replaced before a merge, if
// there are many notes. It keeps notes of pipelines that this process does not run.
func dropNotes(rd *object.Reader, w *object.Writer, tree plumbing.Hash, tips map[string]plumbing.Hash) (plumbing.Hash,
	error) {
	notes, err := w.Notes(tree)
	if err != nil || len(notes) <= maxNotes {
		return tree, err
	}
	reachable, err := history(rd, tips)
	if err != nil {
		return tree, err
	}
	edits := map[string]object.Edit{}
	for _, n := range notes {
		if reachable[n.Commit] {
			continue
		}
		text, err := rd.Blob(n.Blob, maxNoteBytes)
		if err != nil {
			continue // it is new or not agentry's
		}
		var body noteBody
		if json.Unmarshal(text, &body) != nil {
			continue
		}
		if _, known := tips[body.Pipeline]; known {
			edits[n.Path] = object.Edit{Remove: true}
		}
	}
	return w.EditTree(tree, edits)
}

// history returns the cached commits that are reachable from the tips.
func history(rd *object.Reader, tips map[string]plumbing.Hash) (map[plumbing.Hash]bool, error) {
	seen := map[plumbing.Hash]bool{}
	var next []plumbing.Hash
	see := func(h plumbing.Hash) {
		if !seen[h] {
			seen[h] = true
			next = append(next, h)
		}
	}
	for _, tip := range tips {
		see(tip)
	}
	for i := 0; i < len(next) && i < maxNoteHistory; i++ {
		c, err := rd.Commit(next[i])
		if errors.Is(err, object.ErrNotFound) {
			continue // the end of a shallow history
		}
		if err != nil {
			return nil, err
		}
		for _, parent := range c.Parents {
			see(parent)
		}
	}
	return seen, nil
}
