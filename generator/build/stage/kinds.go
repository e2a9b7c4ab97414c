package stage

import (
	"maps"
	"slices"
	"strings"

	"github.com/agentry-dev/agentry/generator/api/v1alpha1"
	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/model"
)

// stage builds one stage: a map of one key. Where several fields are set it has several, and
// none where nothing is set, as the operator has it; the agent refuses the former and passes
// over the latter.
func (b *builder) stage(path string, s *v1alpha1.PipelineStageSpec) model.Map {
	k := &keys{path: path, stage: model.Map{}}
	add(k, "cri", s.CRI, empty)
	add(k, "docker", s.Docker, empty)
	add(k, "drop", s.Drop, b.drop)
	add(k, "json", s.JSON, b.json)
	addAll(k, "labelAllow", len(s.LabelAllow), s.LabelAllow, b.labelAllow)
	addAll(k, "labelDrop", len(s.LabelDrop), s.LabelDrop, b.labelDrop)
	addAll(k, "labels", len(s.Labels), s.Labels, b.labels)
	add(k, "limit", s.Limit, b.limit)
	add(k, "match", s.Match, b.match)
	addAll(k, "metrics", len(s.Metrics), s.Metrics, b.metrics)
	add(k, "multiline", s.Multiline, b.multiline)
	add(k, "output", s.Output, b.output)
	add(k, "pack", s.Pack, b.pack)
	add(k, "regex", s.Regex, b.regex)
	add(k, "replace", s.Replace, b.replace)
	add(k, "template", s.Template, b.template)
	add(k, "tenant", s.Tenant, b.tenant)
	add(k, "timestamp", s.Timestamp, b.timestamp)
	switch {
	case len(k.fields) > 1:
		b.fail(path, "a stage has one key, this has %s", strings.Join(k.fields, ", "))
	case len(k.fields) == 0:
		b.report(diag.Warning, diag.StageIgnored, path, "a stage without settings is written as cri: {}", "the stage is empty, and does nothing")
	}
	return k.stage
}

// keys are the keys of a stage.
type keys struct {
	path   string
	fields []string // as the resource spells them
	stage  model.Map
}

// add adds a key if its field is set.
func add[T any](k *keys, field string, spec *T, build func(path string, spec *T) model.Map) {
	if spec != nil {
		k.set(field, build(k.path+"."+field, spec))
	}
}

// addAll adds a key whose field is a list or map, unless that is empty.
func addAll[T any, V model.Map | model.List](k *keys, field string, length int, spec T, build func(path string, spec T) V) {
	if length > 0 {
		k.set(field, build(k.path+"."+field, spec))
	}
}

// set adds a key, which the agent spells as the resource does, but in lower case.
func (k *keys) set(field string, v model.Value) {
	k.fields = append(k.fields, field)
	k.stage.Set(strings.ToLower(field), v)
}

// empty builds a stage that has no settings.
func empty[T any](string, *T) model.Map { return model.Map{} }

// texts is a map of strings in the order of its keys.
func texts(values map[string]string) model.Map {
	m := make(model.Map, 0, len(values))
	for _, key := range slices.Sorted(maps.Keys(values)) {
		m.Set(key, values[key])
	}
	return m
}

// list is a list of strings.
func list(items []string) model.List {
	l := make(model.List, 0, len(items))
	for _, s := range items {
		l = append(l, s)
	}
	return l
}

// child is the path of a key.
func child(path, key string) string {
	plain := key != "" && !strings.ContainsFunc(key, func(r rune) bool {
		return r != '_' && r != '-' && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
	})
	switch {
	case !plain:
		return path + "[" + key + "]"
	case strings.HasSuffix(path, ">"):
		return path + key
	}
	return path + "." + key
}
