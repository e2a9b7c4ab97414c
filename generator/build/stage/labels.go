package stage

import (
	"fmt"
	"slices"

	prommodel "github.com/prometheus/common/model"

	"github.com/agentry-dev/agentry/generator/api/v1alpha1"
	"github.com/agentry-dev/agentry/generator/model"
)

// boundLabel is the label of a histogram's buckets.
const boundLabel = "le"

func (b *builder) labels(path string, labels map[string]string) model.Map {
	m := texts(labels)
	for _, l := range m {
		at := child(path, l.Key)
		if !prommodel.LabelName(l.Key).IsValidLegacy() {
			b.fail(at, "%q is not a label name", l.Key)
		}
		if l.Key == boundLabel {
			b.bound = at
		}
	}
	return m
}

func (b *builder) labelAllow(path string, names []string) model.List {
	if !slices.Contains(names, boundLabel) {
		b.bound = ""
	}
	return b.labelNames(path, names)
}

func (b *builder) labelDrop(path string, names []string) model.List {
	if slices.Contains(names, boundLabel) {
		b.bound = ""
	}
	return b.labelNames(path, names)
}

func (b *builder) labelNames(path string, names []string) model.List {
	for i, name := range names {
		if !prommodel.LabelName(name).IsValidLegacy() {
			b.warn(fmt.Sprintf("%s[%d]", path, i), "%q is not a label name: no line has such a label", name)
		}
	}
	return list(names)
}

func (b *builder) pack(_ string, s *v1alpha1.PackStageSpec) model.Map {
	m := model.Map{}
	m.SetList("labels", s.Labels)
	if s.IngestTimestamp { // false cannot be told from absent, which the agent takes for true
		m.Set("ingest_timestamp", true)
	}
	return m
}

func (b *builder) output(path string, s *v1alpha1.OutputStageSpec) model.Map {
	b.required(path+".source", s.Source)
	return model.Map{{Key: "source", Value: s.Source}}
}

func (b *builder) tenant(path string, s *v1alpha1.TenantStageSpec) model.Map {
	m := model.Map{}
	m.SetText("label", s.Label)
	m.SetText("source", s.Source)
	m.SetText("value", s.Value)
	if len(m) != 1 {
		b.fail(path, "needs one of label, source and value, has %d of them", len(m))
	}
	return m
}
