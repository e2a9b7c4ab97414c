package argocd

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/agentry-dev/agentry/inputs/helm"
)

// job is a value whose strings are templates, with their parameters.
type job struct {
	value  any
	params map[string]any
}

// expand executes the templates of all jobs in one request.
func (r *run) expand(ctx context.Context, field string, jobs []job) ([]any, error) {
	if !r.spec.GoTemplate {
		return r.replace(ctx, field, jobs)
	}
	texts := helm.Texts{Options: r.spec.GoTemplateOptions}
	for _, j := range jobs {
		texts.Data = append(texts.Data, j.params)
		if err := r.charge(ctx, sizeOf(j.value)+sizeOf(j.params), field); err != nil {
			return nil, err
		}
		_, err := rewrite(j.value, field, func(at, text string) (string, error) {
			if len(j.params) > 0 && strings.Contains(text, "{{") {
				texts.List = append(texts.List, helm.Text{Name: at, Template: text, Data: len(texts.Data) - 1})
			}
			return text, nil
		})
		if err != nil {
			return nil, err
		}
	}
	results, err := r.execute(ctx, field, texts)
	if err != nil {
		return nil, err
	}
	out := make([]any, len(jobs))
	for i, j := range jobs {
		if out[i], err = rewrite(j.value, field, func(_, text string) (string, error) {
			if len(j.params) > 0 && strings.Contains(text, "{{") {
				text, results = results[0], results[1:]
			}
			return text, r.charge(ctx, len(text), field)
		}); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func (r *run) execute(ctx context.Context, field string, texts helm.Texts) ([]string, error) {
	if len(texts.List) == 0 {
		return nil, nil
	}
	if r.Execute == nil {
		return nil, refused(field, "commit the Applications that it generates", "Go templates are not executed here")
	}
	out, err := r.Execute(ctx, texts)
	if failed, ok := errors.AsType[*helm.Failure](err); ok {
		at := failed.Template
		if at == "" {
			at = field
		}
		return nil, problem(at, "", "%s", failed.Reason)
	}
	return out, err
}

// replace replaces {{name}} by parameters, as ApplicationSets without goTemplate do.
func (r *run) replace(ctx context.Context, field string, jobs []job) ([]any, error) {
	out := make([]any, len(jobs))
	for i, j := range jobs {
		var err error
		if out[i], err = rewrite(j.value, field, func(at, text string) (string, error) {
			text, ok := substitute(text, j.params, maxBytes-r.bytes)
			if !ok {
				return "", problem(at, "", "the template has {{ without }}, or its result is too large")
			}
			return text, r.charge(ctx, len(text), field)
		}); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// isTemplate matches templates of ApplicationSets without goTemplate. They do not span lines.
var isTemplate = regexp.MustCompile(`\{\{.*\}\}`)

// substitute replaces the names of string parameters and keeps others unchanged. It returns false if a brace is not
// closed or the result would exceed limit bytes.
func substitute(text string, params map[string]any, limit int) (string, bool) {
	if !isTemplate.MatchString(text) {
		return text, true
	}
	var out strings.Builder
	for {
		before, rest, found := strings.Cut(text, "{{")
		out.WriteString(before)
		if !found {
			return out.String(), true
		}
		tag, after, closed := strings.Cut(rest, "}}")
		if !closed {
			return "", false
		}
		value, known := params[strings.TrimSpace(tag)].(string)
		if !known {
			value = "{{" + tag + "}}"
		}
		if out.Len()+len(value) > limit {
			return "", false
		}
		out.WriteString(value)
		text = after
	}
}

// rewrite returns a value with all its strings and keys replaced, visiting them in a fixed order.
func rewrite(value any, at string, text func(at, text string) (string, error)) (any, error) {
	switch value := value.(type) {
	case string:
		return text(at, value)
	case []any:
		out := make([]any, len(value))
		for i, inner := range value {
			var err error
			if out[i], err = rewrite(inner, fmt.Sprintf("%s[%d]", at, i), text); err != nil {
				return nil, err
			}
		}
		return out, nil
	case map[string]any:
		out := make(map[string]any, len(value))
		for _, key := range slices.Sorted(maps.Keys(value)) {
			inner, err := rewrite(value[key], at+"."+key, text)
			if err != nil {
				return nil, err
			}
			if key, err = text(at+"."+key, key); err != nil {
				return nil, err
			}
			out[key] = inner
		}
		return out, nil
	}
	return value, nil
}

// charge counts the bytes produced for an ApplicationSet. It returns an error if they exceed the limit or the context
// has ended.
func (r *run) charge(ctx context.Context, bytes int, field string) error {
	if r.bytes += bytes; r.bytes > maxBytes {
		return problem(field, "split the ApplicationSet", "generators and templates produce more than %d MiB",
			maxBytes>>20)
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return nil
}

// sizeOf estimates the size of a value in bytes.
func sizeOf(value any) int {
	size := 16
	switch value := value.(type) {
	case string:
		size += len(value)
	case []any:
		for _, inner := range value {
			size += sizeOf(inner)
		}
	case map[string]any:
		for key, inner := range value {
			size += len(key) + sizeOf(inner)
		}
	case helm.Strings:
		for key, inner := range value {
			size += len(key) + len(inner)
		}
	}
	return size
}
