package relabel

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentry-dev/agentry/generator/model"
)

func TestCheck(t *testing.T) {
	for name, c := range map[string]struct {
		rule model.Relabel
		want []string // fields
	}{
		"replace":                  {model.Relabel{TargetLabel: "a"}, nil},
		"into a group":             {model.Relabel{TargetLabel: "a_${1}_$2"}, nil},
		"replace without a target": {model.Relabel{}, []string{"targetLabel"}},
		"an invalid target":        {model.Relabel{TargetLabel: "a-b"}, []string{"targetLabel"}},
		"an invalid expression":    {model.Relabel{TargetLabel: "a", Regex: model.Present("(")}, []string{"regex"}},
		"a null": {model.Relabel{TargetLabel: "a", Regex: model.Present("null")},
			[]string{"regex"}},
		"two mistakes":              {model.Relabel{Regex: model.Present("(")}, []string{"regex", "targetLabel"}},
		"CamelCase":                 {model.Relabel{Action: "LabelDrop", Regex: model.Present("x")}, nil},
		"an unknown action":         {model.Relabel{Action: "join"}, []string{"action"}},
		"hashmod":                   {model.Relabel{Action: "hashmod", TargetLabel: "a", Modulus: 2}, nil},
		"hashmod without a modulus": {model.Relabel{Action: "hashmod", TargetLabel: "a"}, []string{"modulus"}},
		"hashmod into a group": {model.Relabel{Action: "hashmod", TargetLabel: "$1", Modulus: 2},
			[]string{"targetLabel"}},
		"lowercase": {model.Relabel{Action: "lowercase", TargetLabel: "a",
			Replacement: model.Present("$1")}, nil},
		"lowercase of something else": {model.Relabel{Action: "lowercase", TargetLabel: "a",
			Replacement: model.Present("x")}, []string{"replacement"}},
		"keepequal": {model.Relabel{Action: "keepequal", TargetLabel: "a",
			SourceLabels: []string{"b"}}, nil},
		"keepequal, default regex": {model.Relabel{Action: "keepequal", TargetLabel: "a",
			Regex: model.Present("(.*)")}, []string{""}},
		"labelmap": {model.Relabel{Action: "labelmap", Replacement: model.Present("x_$1")}, nil},
		"labelmap to no label": {model.Relabel{Action: "labelmap", Replacement: model.Present("a-b")},
			[]string{"replacement"}},
		"labelkeep with a target": {model.Relabel{Action: "labelkeep", TargetLabel: "a"}, []string{""}},
		"a variable": {model.Relabel{TargetLabel: "a", Replacement: model.Present("${HOME}")},
			[]string{"replacement"}},
		"a variable of the reloader": {model.Relabel{TargetLabel: "a", Regex: model.Present("$(HOME)")},
			[]string{"regex"}},
		"no variable": {model.Relabel{TargetLabel: "a", Replacement: model.Present("${1}$2$")}, nil},
	} {
		var checker Checker
		var got []string
		for _, p := range checker.Check(&c.rule) {
			got = append(got, p.Path)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
