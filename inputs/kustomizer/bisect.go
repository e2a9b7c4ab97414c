package kustomizer

import (
	"path"
	"slices"
	"sort"
	"strconv"

	"sigs.k8s.io/kustomize/api/resmap"
	"sigs.k8s.io/kustomize/api/types"
	sigsyaml "sigs.k8s.io/yaml"
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

// kustomization is a kustomization of a job, as it is in its files.
type kustomization struct {
	types.Kustomization
	folder, file string
}

// bisection finds what makes a build fail by building parts of it again, because kustomize's errors seldom say it.
type bisection struct {
	job    *Job
	files  *files
	tree   map[string]*kustomization // by folder
	trials int
}

// find returns what makes the job fail.
func (r *blameRequest) find(f *files) (out Blame) {
	b := &bisection{job: &r.Job, files: f, tree: map[string]*kustomization{}}
	replacements, bytes := 0, 0
	for _, text := range r.Job.Files {
		bytes += len(text)
	}
	for _, k := range r.Tree {
		text, err := f.ReadFile(k.File)
		one := &kustomization{folder: k.Folder, file: k.File}
		if err != nil || one.Unmarshal(text) != nil {
			return Blame{} // the caller has read it
		}
		b.tree[k.Folder] = one
		replacements += len(one.Replacements)
	}
	at := b.tree[r.Job.Folder]
	if at == nil || bytes > maxBisectedBytes || replacements > maxBisectedReplacements {
		return Blame{}
	}
	for {
		next, failed := b.base(at)
		if next == nil {
			break
		}
		at, out.Refusal = next, failed.Error()
	}
	out.Folder, out.Field = at.folder, b.entry(at)
	out.Operation = b.failedOperation(at, out.Field)
	return out
}

// base returns a base of a kustomization that fails too, and how, or nil.
func (b *bisection) base(of *kustomization) (*kustomization, error) {
	//lint:ignore SA1019 kustomize still reads them
	for _, p := range slices.Concat(of.Resources, of.Bases) {
		base := b.tree[path.Join(of.folder, p)]
		if base == nil {
			continue
		}
		tried := base.Kustomization
		tried.SortOptions = nil // only those of the folder that is built count
		if failed := b.trial(base, tried); failed != nil {
			return base, failed
		}
	}
	return nil, nil
}

// fails reports whether a folder fails to build with another kustomization.
func (b *bisection) fails(at *kustomization, k types.Kustomization) bool {
	return b.trial(at, k) != nil
}

// trial returns how a folder fails to build with another kustomization. After maxTrials it returns nil.
func (b *bisection) trial(at *kustomization, k types.Kustomization) error {
	if b.trials++; b.trials > maxTrials {
		return nil
	}
	return b.try(at, k, func(resmap.ResMap) {})
}

// try builds a folder with another kustomization and calls then with the objects.
func (b *bisection) try(at *kustomization, k types.Kustomization, then func(resmap.ResMap)) error {
	text, err := sigsyaml.Marshal(k)
	if err != nil {
		return err
	}
	b.files.changed = map[string][]byte{at.file: text}
	defer func() { b.files.changed = nil }()
	return b.job.run(func() error {
		built, err := kustomize(b.files, at.folder)
		if err == nil {
			then(built)
		}
		return err
	})
}

// entry returns the first entry with which a kustomization fails, in the order in which kustomize reads them.
func (b *bisection) entry(f *kustomization) string {
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
		if !b.fails(f, tried) {
			continue
		}
		first := sort.Search(last, func(n int) bool {
			p.cut(&tried, n+1)
			return b.fails(f, tried)
		})
		if p.isOne {
			return p.field
		}
		return p.field + index(min(first, last-1))
	}
	return ""
}

func index(i int) string { return "[" + strconv.Itoa(i) + "]" }

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
		//lint:ignore SA1019 kustomize still reads them
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
		sortOptions(k.SortOptions),
	}
}

// sortOptions returns the field that kustomize reads last.
func sortOptions(value *types.SortOptions) part {
	p := part{field: "sortOptions", isOne: true, cut: func(k *types.Kustomization, n int) {
		if k.SortOptions = nil; n > 0 {
			k.SortOptions = value
		}
	}}
	if value != nil {
		p.count = 1
	}
	return p
}
