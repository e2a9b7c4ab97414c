package server

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/agentry-dev/agentry/generator/explain"
)

// Limits of what one request explains.
const (
	maxReferences    = 100
	maxSelectorBytes = 4 << 10
	maxExplained     = 500
	maxQueryBytes    = 1 << 10
	maxHits          = 100
)

// maxWorlds is for how many pipelines what explains their last pass is kept.
const maxWorlds = 2

// worlds keeps what explains renders, because it takes longer to make than to ask. It is safe for concurrent use.
type worlds struct {
	mu   sync.Mutex
	kept []*kept // the one that was asked last is last
}

// kept explains one render. Its mu guards the world, which is asked by one request at a time.
type kept struct {
	pipeline string
	render   *explain.Render

	mu    sync.Mutex
	world *explain.World
	index *explain.Index
}

// of returns what explains a render of a pipeline.
func (w *worlds) of(pipeline string, render *explain.Render) *kept {
	w.mu.Lock()
	defer w.mu.Unlock()
	i := slices.IndexFunc(w.kept, func(k *kept) bool { return k.pipeline == pipeline })
	k := &kept{pipeline: pipeline, render: render}
	if i >= 0 {
		if w.kept[i].render == render {
			k = w.kept[i]
		}
		w.kept = slices.Delete(w.kept, i, i+1)
	}
	if len(w.kept) == maxWorlds {
		w.kept = slices.Delete(w.kept, 0, 1)
	}
	w.kept = append(w.kept, k)
	return k
}

// forget drops what explains a pipeline.
func (w *worlds) forget(pipeline string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.kept = slices.DeleteFunc(w.kept, func(k *kept) bool { return k.pipeline == pipeline })
}

// ask calls a function with the world.
func (k *kept) ask(f func(*explain.World)) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.world == nil {
		k.world = explain.New(*k.render)
	}
	f(k.world)
}

// search looks for objects.
func (k *kept) search(query string, limit int) explain.Hits {
	k.ask(func(w *explain.World) {
		if k.index == nil {
			k.index = w.Index()
		}
	})
	return k.index.Search(query, limit)
}

// refusal is an answer that is no success.
type refusal struct {
	status int
	Problem
}

// explained returns what explains the last pass of a pipeline.
func (a *admin) explained(pipeline string) (*kept, *refusal) {
	render, ok := a.Fleet.Explained(pipeline)
	if !ok {
		return nil, &refusal{http.StatusNotFound, Problem{Error: "no such pipeline"}}
	}
	if render == nil {
		a.worlds.forget(pipeline)
		return nil, &refusal{http.StatusServiceUnavailable, Problem{Error: "nothing is kept of the last pass", Hint: "agentry trigger " + pipeline + " makes another one"}}
	}
	return a.worlds.of(pipeline, render), nil
}

// explain explains the objects that references and labels name.
func (k *kept) explain(references []string, selector string) (out explain.List, refused *refusal) {
	bad := func(hint, format string, args ...any) (explain.List, *refusal) {
		return explain.List{}, &refusal{http.StatusBadRequest, Problem{fmt.Sprintf(format, args...), hint}}
	}
	if len(references) == 0 && selector == "" {
		return bad("write ?object=KIND/namespace/name", "no object is named")
	}
	if len(references) > maxReferences || len(selector) > maxSelectorBytes {
		return bad("ask for fewer", "more than %d objects, or a selector of more than %d bytes", maxReferences, maxSelectorBytes)
	}
	var labelled labels.Selector
	if selector != "" {
		var err error
		if labelled, err = labels.Parse(selector); err != nil {
			return bad("write it like team=a or team in (a, b)", "the selector is invalid: %v", err)
		}
	}
	k.ask(func(w *explain.World) {
		ids, err := w.Resolve(references, labelled)
		if unknown, ok := errors.AsType[*explain.UnknownError](err); ok {
			refused = &refusal{http.StatusNotFound, Problem{unknown.Message, unknown.Hint}}
			return
		}
		if len(ids) > maxExplained {
			out, refused = bad("ask for fewer of them", "%d objects are meant, and %d are explained at once", len(ids), maxExplained)
			return
		}
		for _, id := range ids {
			if e, ok := w.Explain(id); ok {
				out.Items = append(out.Items, e)
			}
		}
	})
	return out, refused
}

func (a *admin) getExplanations(w http.ResponseWriter, r *http.Request) {
	k, refused := a.explained(r.PathValue("name"))
	var out explain.List
	if refused == nil {
		out, refused = k.explain(r.URL.Query()["object"], r.URL.Query().Get("selector"))
	}
	if refused != nil {
		answer(w, refused.status, refused.Problem)
		return
	}
	answer(w, http.StatusOK, out)
}

func (a *admin) getObjects(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query().Get("q")
	k, refused := a.explained(r.PathValue("name"))
	if refused == nil && len(query) > maxQueryBytes {
		refused = &refusal{http.StatusBadRequest, Problem{fmt.Sprintf("the query has more than %d bytes", maxQueryBytes), "ask for fewer words"}}
	}
	if refused != nil {
		answer(w, refused.status, refused.Problem)
		return
	}
	answer(w, http.StatusOK, k.search(query, maxHits))
}
