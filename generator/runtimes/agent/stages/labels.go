package stages

import (
	"fmt"
	"maps"
	"slices"

	prommodel "github.com/prometheus/common/model"

	"github.com/agentry-dev/agentry/generator/compile/stage"
	"github.com/agentry-dev/agentry/generator/model"
)

// boundLabel is the label of a histogram's buckets.
const boundLabel = "le"

func labels(p *problems, path string, labels map[string]string, before *before) {
	for _, name := range slices.Sorted(maps.Keys(labels)) {
		at := stage.KeyPath(path, name)
		if !prommodel.LabelName(name).IsValidLegacy() {
			p.fail(at, "%q is not a label name", name)
		}
		if name == boundLabel {
			before.bound = at
		}
	}
}

func labelAllow(p *problems, path string, names []string, before *before) {
	if !slices.Contains(names, boundLabel) {
		before.bound = ""
	}
	labelNames(p, path, names)
}

func labelDrop(p *problems, path string, names []string, before *before) {
	if slices.Contains(names, boundLabel) {
		before.bound = ""
	}
	labelNames(p, path, names)
}

func labelNames(p *problems, path string, names []string) {
	for i, name := range names {
		if !prommodel.LabelName(name).IsValidLegacy() {
			p.warn(fmt.Sprintf("%s[%d]", path, i), "%q is not a label name: no line has such a label", name)
		}
	}
}

func tenant(p *problems, path string, s *model.TenantStage) {
	n := 0
	for _, text := range []string{s.Label, s.Source, s.Value} {
		if text != "" {
			n++
		}
	}
	if n != 1 {
		p.fail(path, "needs one of label, source and value, has %d of them", n)
	}
}
