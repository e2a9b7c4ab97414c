package explainers

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/agentry-dev/agentry/generator/explain"
)

// Limits of one question and its answer.
const (
	MaxReferences    = 100
	MaxSelectorBytes = 4 << 10
	MaxExplained     = 500
	MaxQueryBytes    = 1 << 10
	MaxResults       = 100
)

// Refusal says why a question has no answer, with a status of HTTP.
type Refusal struct {
	Status        int
	Message, Hint string
}

// Error implements error.
func (r *Refusal) Error() string { return r.Message }

func badRequest(hint, format string, args ...any) *Refusal {
	return &Refusal{http.StatusBadRequest, fmt.Sprintf(format, args...), hint}
}

// Explain explains the objects of the last pass of a pipeline that references and labels name.
func (s *Store) Explain(ctx context.Context, pipeline string, references []string, selector string) (out explain.List,
	refused *Refusal) {
	k, refused := s.last(ctx, pipeline)
	if refused != nil {
		return out, refused
	}
	if len(references) == 0 && selector == "" {
		return out, badRequest("write ?object=KIND/namespace/name", "no object is named")
	}
	if len(references) > MaxReferences || len(selector) > MaxSelectorBytes {
		return out, badRequest("ask for fewer", "more than %d objects, or a selector of more than %d bytes",
			MaxReferences, MaxSelectorBytes)
	}
	var labelled labels.Selector
	if selector != "" {
		var err error
		if labelled, err = labels.Parse(selector); err != nil {
			return out, badRequest("write it like team=a or team in (a, b)", "the selector is invalid: %v", err)
		}
	}
	k.ask(func(x *explain.Explainer) { out, refused = explainAll(x, references, labelled) })
	return out, refused
}

func explainAll(x *explain.Explainer, references []string, labelled labels.Selector) (out explain.List,
	refused *Refusal) {
	ids, err := x.Resolve(references, labelled)
	if unknown, ok := errors.AsType[*explain.UnknownError](err); ok {
		return out, &Refusal{http.StatusNotFound, unknown.Message, unknown.Hint}
	}
	if len(ids) > MaxExplained {
		return out, badRequest("ask for fewer of them", "%d objects match, and at most %d are explained at once",
			len(ids), MaxExplained)
	}
	for _, id := range ids {
		if e, ok := x.Explain(id); ok {
			out.Items = append(out.Items, e)
		}
	}
	return out, nil
}

// Search returns the objects of the last pass of a pipeline that have all words of a query, at most [MaxResults].
func (s *Store) Search(pipeline, query string) (out explain.SearchResult, refused *Refusal) {
	if refused := tooLong(query); refused != nil {
		return out, refused
	}
	index, ok := s.fleet.Index(pipeline)
	switch {
	case !ok:
		return out, noPipeline()
	case index == nil:
		return out, notKept(pipeline)
	}
	return index.Search(query, MaxResults), nil
}

// SearchAll looks for the words of a query in the last passes of pipelines, until the context is done. It remembers the
// limit best of each group, and also returns the pipelines in which it could not look.
func (s *Store) SearchAll(ctx context.Context, pipelines []string, query string, limit int) (out *explain.Search,
	missed []string, refused *Refusal) {
	if refused := tooLong(query); refused != nil {
		return nil, nil, refused
	}
	out = explain.NewSearch(query, limit)
	for i, name := range pipelines {
		if ctx.Err() != nil {
			return out, append(missed, pipelines[i:]...), nil
		}
		index, _ := s.fleet.Index(name)
		if index == nil {
			missed = append(missed, name)
			continue
		}
		out.In(name, index)
	}
	return out, missed, nil
}

func tooLong(query string) *Refusal {
	if len(query) > MaxQueryBytes {
		return badRequest("search for fewer words", "the query has more than %d bytes", MaxQueryBytes)
	}
	return nil
}

// Tree returns the hierarchies of the last pass of a pipeline.
func (s *Store) Tree(ctx context.Context, pipeline string) (roots []*explain.Node, refused *Refusal) {
	k, refused := s.last(ctx, pipeline)
	if refused != nil {
		return nil, refused
	}
	k.ask(func(x *explain.Explainer) { roots = x.Tree() })
	return roots, nil
}
