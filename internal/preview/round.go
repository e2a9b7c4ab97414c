package preview

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/agentry-dev/agentry/internal/forge"
	"github.com/agentry-dev/agentry/internal/panics"
)

// round previews the pull requests of one source.
type round struct {
	turn
	options  Options
	log      *slog.Logger
	renderer *renderer
}

// forgetClosed drops the previews of pull requests that are no longer open.
func (r *round) forgetClosed(open []forge.PullRequest) {
	previews := map[int]published{}
	for _, pr := range open {
		if known, ok := r.previews[pr.Number]; ok {
			previews[pr.Number] = known
		}
	}
	r.previews = previews
}

// unseen returns pull requests with a new head, limited to the number that a round renders.
func (r *round) unseen(pulls []forge.PullRequest) []forge.PullRequest {
	out := slices.DeleteFunc(slices.Clone(pulls), func(pr forge.PullRequest) bool {
		return r.previews[pr.Number].head == pr.Head
	})
	return out[:min(len(out), MaxPerRound)]
}

// previewAll renders and publishes previews.
func (r *round) previewAll(ctx context.Context, pulls []forge.PullRequest) {
	for _, pr := range pulls {
		if ctx.Err() != nil || !r.options.MayPublish() {
			return
		}
		now, err := r.preview(ctx, pr)
		switch {
		case panics.Is(err):
			r.log.Error("cannot preview a pull request; the next push to it is tried", "number", pr.Number, "err", err)
			now = published{head: pr.Head, broken: true}
		case err != nil:
			r.log.Warn("cannot preview a pull request; the next round tries again", "number", pr.Number, "err", err)
			continue
		}
		now.at = time.Now()
		r.previews[pr.Number] = now
	}
}

// outdated returns pull requests that were compared with another output than the present one, limited to the number
// that may be updated. It compares outputs, because most pushes to a large repository concern other pipelines.
func (r *round) outdated(ctx context.Context, s *schedule, pulls []forge.PullRequest) []forge.PullRequest {
	if r.inputs == r.baseInputs && !slices.ContainsFunc(pulls, r.isOutdated) {
		return nil
	}
	if time.Now().Before(r.nextRefresh) {
		s.refreshLater(r.key)
		return nil
	}
	if err := r.renderBase(ctx); err != nil {
		r.log.Warn("cannot render the base of previews; the next round tries again", "err", err)
		return nil
	}
	old := slices.DeleteFunc(slices.Clone(pulls), func(pr forge.PullRequest) bool { return !r.isOutdated(pr) })
	if len(old) == 0 {
		return nil
	}
	s.refreshed(r.key, r.interval)
	slices.SortStableFunc(old, func(a, b forge.PullRequest) int {
		return r.previews[a.Number].at.Compare(r.previews[b.Number].at)
	})
	return old[:min(len(old), MaxRefreshed)]
}

// isOutdated reports whether a preview was compared with another base than the present one.
func (r *round) isOutdated(pr forge.PullRequest) bool {
	known, ok := r.previews[pr.Number]
	return ok && known.head == pr.Head && known.base != r.base && !known.broken
}

// errNotOurs means that another replica has taken over the pipeline.
var errNotOurs = errors.New("another replica runs the pipeline now")

// renderBase renders the pipeline itself.
func (r *round) renderBase(ctx context.Context) (err error) {
	defer r.recovered(&err)
	ctx, cancel := context.WithTimeoutCause(ctx, Timeout, fmt.Errorf("rendering took longer than %s", Timeout))
	defer cancel()
	if _, err = r.renderer.renderBase(ctx); err == nil {
		r.base, r.baseInputs = r.renderer.fingerprint, r.inputs
	}
	return err
}

// preview renders and publishes one preview. Anyone who opens a pull request controls the input, so a panic ends only
// this preview.
func (r *round) preview(ctx context.Context, pr forge.PullRequest) (now published, err error) {
	defer r.recovered(&err)
	ctx, cancel := context.WithTimeoutCause(ctx, Timeout, fmt.Errorf("the preview took longer than %s", Timeout))
	defer cancel()
	base, head, err := r.renderer.render(ctx, r.forge.HeadRef(pr.Number))
	if err != nil {
		return published{}, err
	}
	if !r.options.MayPublish() {
		return published{}, errNotOurs // rendering took a while
	}
	r.base, r.baseInputs = r.renderer.fingerprint, r.inputs
	found := compare(base, head, r.key.source)
	now = published{head: pr.Head, base: r.base, digest: found.digest(r.key.pipeline, r.forge.MaxTextBytes())}
	if before := r.previews[pr.Number]; before.head == now.head && before.digest == now.digest {
		return now, nil // the base has changed, but the text is still true
	}
	return now, r.publish(ctx, pr, found)
}

// publish writes the comment and the status.
func (r *round) publish(ctx context.Context, pr forge.PullRequest, found result) error {
	settings := r.def.Spec.Sources[r.key.source].Previews
	if settings.Comment == nil || *settings.Comment {
		c := forge.Comment{Marker: marker(r.key), OnlyUpdate: found.isEmpty()}
		c.Text = found.markdown(r.key.pipeline, r.forge.MaxTextBytes()-len(c.Marker)-1)
		if err := r.forge.Comment(ctx, pr.Number, c); err != nil {
			return err
		}
	}
	if settings.Status != nil && !*settings.Status {
		return nil
	}
	state, text := found.verdict()
	return r.forge.SetStatus(ctx, found.head,
		forge.Status{Context: statusContext(r.key.pipeline), State: state, Description: text, URL: pr.URL})
}

// digest identifies the text about a pull request. It ignores the base commit: a new one alone is not a reason to write
// the comment again.
func (r result) digest(pipeline string, limit int) string {
	r.base = ""
	state, text := r.verdict()
	sum := sha256.Sum256([]byte(string(state) + "\n" + text + "\n" + r.markdown(pipeline, limit)))
	return string(sum[:])
}

// recovered turns a panic into an error. It is deferred.
func (r *round) recovered(err *error) {
	value := recover()
	if value == nil {
		return
	}
	r.renderer.close() // its caches may be broken
	*err = panics.Log(r.options.Log, "preview", r.key.pipeline, value)
}
