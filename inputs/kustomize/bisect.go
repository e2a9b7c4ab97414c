package kustomize

import (
	"maps"
	"path"
	"slices"
	"sort"

	"sigs.k8s.io/kustomize/api/resmap"
	"sigs.k8s.io/kustomize/api/types"
)

const (
	// maxBisectedBytes limits the size of a build that is bisected.
	maxBisectedBytes = 4 << 20
	// maxBisectedReplacements limits the replacements of a build that is bisected: they can be slow in small files
	// too.
	maxBisectedReplacements = 100
	// maxTrials limits the builds of a bisection.
	maxTrials = 40
)

// isCheap reports whether a build of these kustomizations, which read so many bytes, can be repeated many times.
func isCheap(all map[string]*file, bytes int) bool {
	replacements := 0
	for _, f := range all {
		replacements += len(f.Replacements)
	}
	return bytes <= maxBisectedBytes && replacements <= maxBisectedReplacements
}

// bisection finds what makes a build fail by building parts of it again, because kustomize's errors seldom say it.
type bisection struct {
	*checker
	trials int
}

// find returns the innermost kustomization that fails, with its folder, and the first entry with which it fails, such
// as patches[1]. The entry is empty if no single one is to blame.
func (b *bisection) find(root *file, folder string) (at *file, in, field string) {
	for at = root; ; {
		next, inner := b.base(at, folder)
		if next == nil {
			return at, folder, b.entry(at, folder)
		}
		at, folder = next, inner
	}
}

// base returns a base of a kustomization that fails too, or nil.
func (b *bisection) base(f *file, folder string) (base *file, inner string) {
	//lint:ignore SA1019 kustomize still reads them
	for _, p := range slices.Concat(f.Resources, f.Bases) {
		inner = path.Join(folder, p)
		if base = b.files[inner]; base != nil && b.fails(base, inner, base.Kustomization) {
			return base, inner
		}
	}
	return nil, ""
}

// fails reports whether a folder fails to build with another kustomization. After maxTrials it returns false.
func (b *bisection) fails(f *file, folder string, k types.Kustomization) bool {
	if b.trials++; b.trials > maxTrials || b.tree.Context().Err() != nil {
		return false
	}
	return b.try(f, folder, k, func(resmap.ResMap) {}) != nil
}

// try builds a folder with another kustomization and calls then with the objects.
func (b *bisection) try(f *file, folder string, k types.Kustomization, then func(resmap.ResMap)) error {
	changed := maps.Clone(b.changed)
	changed[f.name] = []byte(marshal(k))
	_, err := run(&files{tree: b.tree, checked: b.files, changed: changed}, folder, b.schemas(), then)
	return err
}

// entry returns the first entry with which a kustomization fails, in the order in which kustomize reads them.
func (b *bisection) entry(f *file, folder string) string {
	parts := partsOf(&f.Kustomization)
	tried := f.Kustomization
	for _, p := range parts {
		p.cut(&tried, 0)
	}
	for _, p := range parts {
		last := p.count
		if last == 0 {
			continue
		}
		p.cut(&tried, last)
		if !b.fails(f, folder, tried) {
			continue
		}
		first := sort.Search(last, func(n int) bool {
			p.cut(&tried, n+1)
			return b.fails(f, folder, tried)
		})
		if p.isOne {
			return p.field
		}
		return p.field + index(min(first, last-1))
	}
	return ""
}

// part is a field of a kustomization: a list, or a string that counts as a list of one.
type part struct {
	field string
	isOne bool
	count int
	cut   func(k *types.Kustomization, n int) // keeps the first n entries
}

// partsOf returns the fields that can make a build fail, in the order in which kustomize reads them.
func partsOf(k *types.Kustomization) []part {
	text := func(name, value string, set func(*types.Kustomization, string)) part {
		p := part{field: name, isOne: true, cut: func(k *types.Kustomization, n int) { set(k, value[:n*len(value)]) }}
		if value != "" {
			p.count = 1
		}
		return p
	}
	pairs := func(name string, value map[string]string, set func(*types.Kustomization, map[string]string)) part {
		return part{name, true, min(len(value), 1), func(k *types.Kustomization, n int) {
			if n == 0 {
				set(k, nil)
				return
			}
			set(k, value)
		}}
	}
	//lint:ignore SA1019 kustomize still reads them
	merges, operations := k.PatchesStrategicMerge, k.PatchesJson6902
	return []part{
		{"resources", false, len(k.Resources), func(to *types.Kustomization, n int) { to.Resources = k.Resources[:n] }},
		pairs("openapi", k.OpenAPI, func(to *types.Kustomization, of map[string]string) { to.OpenAPI = of }),
		{"crds", false, len(k.Crds), func(to *types.Kustomization, n int) { to.Crds = k.Crds[:n] }},
		{"configurations", false, len(k.Configurations), func(to *types.Kustomization, n int) {
			to.Configurations = k.Configurations[:n]
		}},
		{"configMapGenerator", false, len(k.ConfigMapGenerator), func(to *types.Kustomization, n int) {
			to.ConfigMapGenerator = k.ConfigMapGenerator[:n]
		}},
		{"secretGenerator", false, len(k.SecretGenerator), func(to *types.Kustomization, n int) {
			to.SecretGenerator = k.SecretGenerator[:n]
		}},
		{"generators", false, len(k.Generators), func(to *types.Kustomization, n int) {
			to.Generators = k.Generators[:n]
		}},
		{"components", false, len(k.Components), func(to *types.Kustomization, n int) {
			to.Components = k.Components[:n]
		}},
		{"patchesStrategicMerge", false, len(merges), func(to *types.Kustomization, n int) {
			//lint:ignore SA1019 kustomize still reads it
			to.PatchesStrategicMerge = merges[:n]
		}},
		{"patches", false, len(k.Patches), func(to *types.Kustomization, n int) { to.Patches = k.Patches[:n] }},
		text("namespace", k.Namespace, func(to *types.Kustomization, s string) { to.Namespace = s }),
		text("namePrefix", k.NamePrefix, func(to *types.Kustomization, s string) { to.NamePrefix = s }),
		text("nameSuffix", k.NameSuffix, func(to *types.Kustomization, s string) { to.NameSuffix = s }),
		{"labels", false, len(k.Labels), func(to *types.Kustomization, n int) { to.Labels = k.Labels[:n] }},
		pairs("commonLabels", k.CommonLabels, func(to *types.Kustomization, of map[string]string) {
			to.CommonLabels = of //lint:ignore SA1019 kustomize still reads it
		}),
		pairs("commonAnnotations", k.CommonAnnotations, func(to *types.Kustomization, of map[string]string) {
			to.CommonAnnotations = of
		}),
		{"patchesJson6902", false, len(operations), func(to *types.Kustomization, n int) {
			//lint:ignore SA1019 kustomize still reads it
			to.PatchesJson6902 = operations[:n]
		}},
		{"replicas", false, len(k.Replicas), func(to *types.Kustomization, n int) { to.Replicas = k.Replicas[:n] }},
		{"images", false, len(k.Images), func(to *types.Kustomization, n int) { to.Images = k.Images[:n] }},
		{"replacements", false, len(k.Replacements), func(to *types.Kustomization, n int) {
			to.Replacements = k.Replacements[:n]
		}},
		{"transformers", false, len(k.Transformers), func(to *types.Kustomization, n int) {
			to.Transformers = k.Transformers[:n]
		}},
		//lint:ignore SA1019 kustomize still reads them
		{"vars", false, len(k.Vars), func(to *types.Kustomization, n int) { to.Vars = k.Vars[:n] }},
		{"validators", false, len(k.Validators), func(to *types.Kustomization, n int) {
			to.Validators = k.Validators[:n]
		}},
	}
}
