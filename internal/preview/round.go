package preview

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"runtime/debug"
	"slices"
	"time"

	"github.com/agentry-dev/agentry/internal/forge"
)

// round previews the pull requests of a source that have a new head, and some of those whose base
// has changed. What fails is tried again in the next round; a rate limit ends this one.
func (p *Previewer) round(ctx context.Context, w turn) {
	if !p.options.MayPublish(w.slice) {
		return // another replica tells, or it is not known which one
	}
	log := p.options.Log.With("pipeline", w.key.pipeline, "source", w.key.source)
	if err := p.connect(w); err != nil {
		log.Warn("no previews of pull requests", "err", err)
		return
	}
	src := w.def.Spec.Sources[w.key.source]
	pulls, err := p.list(ctx, w, baseBranch(src))
	if err != nil {
		log.Warn("pull requests cannot be listed, tried again", "err", err)
		return
	}
	if !src.Previews.Forks {
		pulls = slices.DeleteFunc(slices.Clone(pulls), func(pr forge.PullRequest) bool { return pr.Fork })
	}
	r := &renderer{options: p.options, def: w.def, source: w.key.source}
	defer r.close()
	open := map[int]told{} // what was told of those that are closed is forgotten
	for _, pr := range pulls {
		if known, ok := w.seen[pr.Number]; ok {
			open[pr.Number] = known
		}
	}
	w.seen = open
	fresh := slices.DeleteFunc(slices.Clone(pulls), func(pr forge.PullRequest) bool { return w.seen[pr.Number].head == pr.Head })
	fresh = fresh[:min(len(fresh), MaxPerRound)]
	p.previewAll(ctx, w, r, log, fresh)
	p.previewAll(ctx, w, r, log, p.outdated(ctx, w, r, log, pulls))
}

func (p *Previewer) previewAll(ctx context.Context, w turn, r *renderer, log *slog.Logger, pulls []forge.PullRequest) {
	for _, pr := range pulls {
		if ctx.Err() != nil || !p.options.MayPublish(w.slice) {
			return
		}
		now, err := p.preview(ctx, w, r, pr)
		switch {
		case errors.Is(err, errPanic):
			log.Error("pull request cannot be previewed before its next push", "number", pr.Number, "err", err)
			now = told{head: pr.Head, broken: true}
		case err != nil:
			log.Warn("pull request cannot be previewed, tried again", "number", pr.Number, "err", err)
			continue
		}
		now.at = time.Now()
		w.seen[pr.Number] = now
	}
}

// outdated are the pull requests that were compared with something else than what the pipeline
// renders by now, as many as may be previewed again. That it has moved does not say that it renders
// anything else: most pushes to a large repository concern others.
func (p *Previewer) outdated(ctx context.Context, w turn, r *renderer, log *slog.Logger, pulls []forge.PullRequest) []forge.PullRequest {
	if w.inputs == w.baseOf && !slices.ContainsFunc(pulls, w.isOutdated) {
		return nil
	}
	if time.Now().Before(w.refresh) {
		p.mu.Lock()
		defer p.mu.Unlock()
		w.due = earlier(w.due, w.refresh)
		return nil
	}
	if err := p.lookAtBase(ctx, w, r); err != nil {
		log.Warn("the base of previews cannot be rendered, tried again", "err", err)
		return nil
	}
	old := slices.DeleteFunc(slices.Clone(pulls), func(pr forge.PullRequest) bool { return !w.isOutdated(pr) })
	if len(old) == 0 {
		return nil
	}
	p.mu.Lock()
	w.refresh = w.last.Add(w.interval) // the next round that nobody asks for
	p.mu.Unlock()
	slices.SortStableFunc(old, func(a, b forge.PullRequest) int { return w.seen[a.Number].at.Compare(w.seen[b.Number].at) })
	return old[:min(len(old), MaxRefreshed)]
}

// isOutdated reports whether a preview is of another base than the one that is known.
func (w *watch) isOutdated(pr forge.PullRequest) bool {
	known, ok := w.seen[pr.Number]
	return ok && known.head == pr.Head && known.base != w.base && !known.broken
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

// errPanic is the error of a preview that panicked.
var errPanic = errors.New("stopped by a fault in agentry itself, which its log describes: please report it")

// errNotOurs is the error of a preview whose pipeline was given to another replica meanwhile.
var errNotOurs = errors.New("another replica runs the pipeline now")

// lookAtBase renders the pipeline as it is.
func (p *Previewer) lookAtBase(ctx context.Context, w turn, r *renderer) (err error) {
	defer p.recovered(w, r, &err)
	ctx, cancel := context.WithTimeoutCause(ctx, Timeout, fmt.Errorf("rendering took longer than %s", Timeout))
	defer cancel()
	if _, err = r.asItIs(ctx); err == nil {
		w.base, w.baseOf = r.print, w.inputs
	}
	return err
}

// preview renders and tells one pull request. Anybody who may open one decides what is rendered:
// a panic ends this preview and nothing else.
func (p *Previewer) preview(ctx context.Context, w turn, r *renderer, pr forge.PullRequest) (now told, err error) {
	defer p.recovered(w, r, &err)
	ctx, cancel := context.WithTimeoutCause(ctx, Timeout, fmt.Errorf("the preview took longer than %s", Timeout))
	defer cancel()
	base, head, err := r.render(ctx, w.forge.HeadRef(pr.Number))
	if err != nil {
		return told{}, err
	}
	if !p.options.MayPublish(w.slice) {
		return told{}, errNotOurs // rendering takes a while
	}
	w.base, w.baseOf = r.print, w.inputs
	found := compare(base, head, w.key.source)
	now = told{head: pr.Head, base: w.base, digest: found.digest(w.key.pipeline, w.forge.MaxTextBytes())}
	if before := w.seen[pr.Number]; before.head == now.head && before.digest == now.digest {
		return now, nil // the branch has moved, and what is said stays true
	}
	return now, p.tell(ctx, w, pr, found)
}

// tell writes the comment and the status.
func (p *Previewer) tell(ctx context.Context, w turn, pr forge.PullRequest, found result) error {
	settings := w.def.Spec.Sources[w.key.source].Previews
	if settings.Comment == nil || *settings.Comment {
		c := forge.Comment{Marker: marker(w.key), OnlyUpdate: found.isQuiet()}
		c.Text = found.markdown(w.key.pipeline, w.forge.MaxTextBytes()-len(c.Marker)-1)
		if err := w.forge.Comment(ctx, pr.Number, c); err != nil {
			return err
		}
	}
	if settings.Status != nil && !*settings.Status {
		return nil
	}
	state, text := found.verdict()
	return w.forge.SetStatus(ctx, found.head, forge.Status{Context: StatusContext(w.key.pipeline), State: state, Description: text, URL: pr.URL})
}

// digest tells apart what is said of a pull request. Which commit it was compared with is left out:
// comments are not written again for that alone.
func (r result) digest(pipeline string, limit int) string {
	r.base = ""
	state, text := r.verdict()
	sum := sha256.Sum256([]byte(string(state) + "\n" + text + "\n" + r.markdown(pipeline, limit)))
	return string(sum[:])
}

// recovered makes a panic an error. It is deferred.
func (p *Previewer) recovered(w turn, r *renderer, err *error) {
	if v := recover(); v != nil {
		r.close() // what it keeps may be broken
		*err = p.panicked(w.key.pipeline, v)
	}
}

// panicked logs a panic. Of its value only what the runtime itself says is shown: anything else may
// hold a secret.
func (p *Previewer) panicked(pipeline string, value any) error {
	text := fmt.Sprintf("%T", value)
	if known, ok := value.(runtime.Error); ok {
		text = known.Error()
	}
	p.options.Log.Error("panic", "during", "preview", "of", pipeline, "value", text, "stack", string(debug.Stack()))
	return errPanic
}
