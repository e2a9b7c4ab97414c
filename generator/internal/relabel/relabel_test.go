package relabel

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentry-dev/agentry/generator/agentyaml"
)

func TestCheck(t *testing.T) {
	for name, c := range map[string]struct {
		rule agentyaml.Relabel
		want []string // fields
	}{
		"replace":                     {agentyaml.Relabel{TargetLabel: "a"}, nil},
		"into a group":                {agentyaml.Relabel{TargetLabel: "a_${1}_$2"}, nil},
		"replace without a target":    {agentyaml.Relabel{}, []string{"targetLabel"}},
		"an invalid target":           {agentyaml.Relabel{TargetLabel: "a-b"}, []string{"targetLabel"}},
		"an invalid expression":       {agentyaml.Relabel{TargetLabel: "a", Regex: agentyaml.T("(")}, []string{"regex"}},
		"a null":                      {agentyaml.Relabel{TargetLabel: "a", Regex: agentyaml.T("null")}, []string{"regex"}},
		"two mistakes":                {agentyaml.Relabel{Regex: agentyaml.T("(")}, []string{"regex", "targetLabel"}},
		"CamelCase":                   {agentyaml.Relabel{Action: "LabelDrop", Regex: agentyaml.T("x")}, nil},
		"an unknown action":           {agentyaml.Relabel{Action: "join"}, []string{"action"}},
		"hashmod":                     {agentyaml.Relabel{Action: "hashmod", TargetLabel: "a", Modulus: 2}, nil},
		"hashmod without a modulus":   {agentyaml.Relabel{Action: "hashmod", TargetLabel: "a"}, []string{"modulus"}},
		"hashmod into a group":        {agentyaml.Relabel{Action: "hashmod", TargetLabel: "$1", Modulus: 2}, []string{"targetLabel"}},
		"lowercase":                   {agentyaml.Relabel{Action: "lowercase", TargetLabel: "a", Replacement: agentyaml.T("$1")}, nil},
		"lowercase of something else": {agentyaml.Relabel{Action: "lowercase", TargetLabel: "a", Replacement: agentyaml.T("x")}, []string{"replacement"}},
		"keepequal":                   {agentyaml.Relabel{Action: "keepequal", TargetLabel: "a", SourceLabels: []string{"b"}}, nil},
		"keepequal, default regex":    {agentyaml.Relabel{Action: "keepequal", TargetLabel: "a", Regex: agentyaml.T("(.*)")}, []string{""}},
		"labelmap":                    {agentyaml.Relabel{Action: "labelmap", Replacement: agentyaml.T("x_$1")}, nil},
		"labelmap to no label":        {agentyaml.Relabel{Action: "labelmap", Replacement: agentyaml.T("a-b")}, []string{"replacement"}},
		"labelkeep with a target":     {agentyaml.Relabel{Action: "labelkeep", TargetLabel: "a"}, []string{""}},
		"a variable":                  {agentyaml.Relabel{TargetLabel: "a", Replacement: agentyaml.T("${HOME}")}, []string{"replacement"}},
		"a variable of the reloader":  {agentyaml.Relabel{TargetLabel: "a", Regex: agentyaml.T("$(HOME)")}, []string{"regex"}},
		"no variable":                 {agentyaml.Relabel{TargetLabel: "a", Replacement: agentyaml.T("${1}$2$")}, nil},
	} {
		var checker Checker
		var got []string
		for _, p := range checker.Check(&c.rule) {
			got = append(got, p.Field)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
