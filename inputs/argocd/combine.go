package argocd

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
)

// combination is the spec of a matrix or merge generator.
type combination struct {
	Generators []map[string]any `json:"generators"`
	MergeKeys  []string         `json:"mergeKeys"`
}

// child returns the parameter sets of the i-th generator of a combination.
func (r *run) child(ctx context.Context, field string, c combination, i int, params map[string]any,
	nesting int) ([]map[string]any, error) {
	made, err := r.generate(ctx, fmt.Sprintf("%s.generators[%d]", field, i), c.Generators[i], params, nesting+1)
	return made.sets, err
}

// matrix returns every pair of parameter sets of two generators. The second generator can use parameters of the first.
func (r *run) matrix(ctx context.Context, field string, raw map[string]any, nesting int) ([]map[string]any, error) {
	var spec combination
	if err := convert(raw, field, &spec); err != nil {
		return nil, err
	}
	if len(spec.Generators) != 2 {
		return nil, problem(field+".generators", "", "a matrix needs two generators, and has %d", len(spec.Generators))
	}
	first, err := r.child(ctx, field, spec, 0, nil, nesting)
	if err != nil {
		return nil, err
	}
	var out []map[string]any
	for _, a := range first {
		second, err := r.child(ctx, field, spec, 1, a, nesting)
		if err != nil {
			return nil, err
		}
		for _, b := range second {
			both := merge(b, a, true)
			if !r.spec.GoTemplate {
				if both, err = mergeTexts(field, a, b); err != nil {
					return nil, err
				}
			}
			out = append(out, both)
		}
		if len(out) > MaxApplications {
			return nil, problem(field, "split the ApplicationSet", "it generates more than %d parameter sets",
				MaxApplications)
		}
	}
	return out, nil
}

// mergeTexts merges two sets of string parameters, which must not contradict each other.
func mergeTexts(field string, a, b map[string]any) (map[string]any, error) {
	out := make(map[string]any, len(a)+len(b))
	for _, set := range []map[string]any{a, b} {
		for key, value := range set {
			text := fmt.Sprint(value)
			if have, found := out[key]; found && have != text {
				return nil, problem(field, "use pathParamPrefix for one of them, or goTemplate",
					"both generators set %q, but to different values", key)
			}
			out[key] = text
		}
	}
	return out, nil
}

// merge returns the parameter sets of the first generator, each changed by the sets of the other generators that have
// the same values for the merge keys.
func (r *run) merge(ctx context.Context, field string, raw map[string]any, nesting int) ([]map[string]any, error) {
	var spec combination
	if err := convert(raw, field, &spec); err != nil {
		return nil, err
	}
	if len(spec.Generators) < 2 || len(spec.MergeKeys) == 0 {
		return nil, problem(field, "", "a merge needs two generators or more, and mergeKeys")
	}
	var out []map[string]any
	index := map[string]int{} // in out, by the values of the merge keys
	for i := range spec.Generators {
		sets, err := r.child(ctx, field, spec, i, nil, nesting)
		if err != nil {
			return nil, err
		}
		seen := map[string]bool{}
		for _, set := range sets {
			key := keyOf(set, spec.MergeKeys)
			if seen[key] {
				return nil, problem(fmt.Sprintf("%s.generators[%d]", field, i), "use mergeKeys with unique values",
					"two of its parameter sets have the same values for mergeKeys")
			}
			seen[key] = true
			at, found := index[key]
			switch {
			case i == 0:
				index[key] = len(out)
				out = append(out, set)
			case !found:
			case r.spec.GoTemplate:
				out[at] = merge(out[at], set, true)
			default:
				out[at] = maps.Clone(out[at])
				maps.Copy(out[at], set)
			}
		}
	}
	return out, nil
}

// keyOf encodes a set's values for some keys as one string.
func keyOf(set map[string]any, keys []string) string {
	of := map[string]any{}
	for _, key := range keys {
		of[key] = set[key]
	}
	text, _ := json.Marshal(of) // cannot fail: it was decoded from YAML
	return string(text)
}
