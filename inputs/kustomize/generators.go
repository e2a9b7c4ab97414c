package kustomize

import (
	"cmp"
	"maps"
	"path"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	"sigs.k8s.io/kustomize/api/konfig"
	"sigs.k8s.io/kustomize/api/types"
	sigsyaml "sigs.k8s.io/yaml"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/manifest"
)

// chartGenerator is the kind of kustomize's own generator that renders a chart.
const chartGenerator = "HelmChartInflationGenerator"

// inflation is a chart that a kustomization renders: an entry of helmCharts, or a generator.
type inflation struct {
	types.HelmChart
	file       *file  // where it is written, with its HelmGlobals
	field      string // its field in file
	namespaces []string
	generator  string // its metadata.name, if it is a generator
}

// inflations returns the charts that the kustomization in a folder renders. It takes them out of the kustomization: a
// file or folder of generators is replaced by a virtual file with its other generators.
func (c *checker) inflations(dir string, f *file) ([]inflation, error) {
	var out []inflation
	written := *f
	for i, of := range f.HelmCharts {
		out = append(out, inflation{of, &written, "helmCharts" + index(i), c.chartNamespaces(dir, of), ""})
	}
	generators := slices.Clone(f.Generators)
	names := map[string]bool{}
	for i, entry := range generators {
		others, found, err := c.chartGenerators(f, dir, entry, "generators"+index(i))
		if err != nil {
			return nil, err
		}
		if len(found) == 0 {
			continue
		}
		for _, of := range found {
			if names[of.generator] {
				return nil, of.file.at(diag.BuildFailed, chartGenerator+".metadata.name",
					"another generator has this name", "rename one of them")
			}
			names[of.generator] = true
		}
		if isInline(entry) {
			entry = path.Base(f.name)
		}
		generators[i] = entry + renderedAs + index(i)
		c.changed[path.Join(dir, generators[i])] = []byte(others)
		out = append(out, found...)
	}
	f.Generators, f.HelmCharts, f.HelmGlobals = generators, nil, nil
	return out, nil
}

// chartGenerators returns the generators of charts in an entry of generators, and its other documents. field is the
// entry.
func (c *checker) chartGenerators(f *file, dir, entry, field string) (others string, found []inflation, err error) {
	if strings.Contains(entry, renderedAs) {
		return "", nil, nil // another build of this kustomization did it
	}
	texts := map[string][]byte{f.name: []byte(entry)}
	if !isInline(entry) {
		if texts, _, err = c.generatorTexts(path.Join(dir, entry)); err != nil {
			return "", nil, explain(err, f.name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		for doc := range documents(texts[name]) {
			if !isChartGenerator(doc) {
				others += "---\n" + marshalNode(doc)
				continue
			}
			of := &file{name: name, find: func(field string) (string, int, int) {
				_, value, rest := manifest.Walk(doc, strings.TrimPrefix(strings.TrimPrefix(field, chartGenerator), "."))
				if rest != "" {
					value = doc
				}
				return name, value.Line, value.Column
			}}
			if isInline(entry) {
				of.find = func(string) (string, int, int) { return f.find(field) }
			}
			var config struct {
				Metadata types.ObjectMeta
				types.HelmGlobals
				types.HelmChart
			}
			if err := sigsyaml.Unmarshal([]byte(marshalNode(doc)), &config); err != nil {
				if w, found := wrongType(doc, err); found {
					return "", nil, of.at(diag.BuildFailed, chartGenerator+"."+w.field, w.message, w.hint())
				}
				return "", nil, of.at(diag.BuildFailed, chartGenerator, "a field has a value of the wrong type",
					"compare it with kustomize's reference of helmCharts, which has the same fields")
			}
			if config.Metadata.Name == "" {
				return "", nil, of.at(diag.BuildFailed, chartGenerator, "has no metadata.name", "set it")
			}
			of.HelmGlobals = &config.HelmGlobals
			// Unlike helmCharts, it does not take the namespace of the kustomization.
			found = append(found, inflation{config.HelmChart, of, chartGenerator, []string{config.Namespace},
				config.Metadata.Name})
		}
	}
	return others, found, nil
}

// generatorTexts returns the files of a file or folder of generators, and its kustomizations by folder.
func (c *checker) generatorTexts(name string) (texts map[string][]byte, folders map[string]*file, err error) {
	texts, folders = map[string][]byte{}, map[string]*file{}
	var add func(name string) error
	add = func(name string) error {
		real, isDir, err := c.tree.Resolve(name)
		if err != nil || folders[real] != nil {
			return err
		}
		if !isDir {
			texts[real], err = c.tree.ReadFile(real)
			return err
		}
		f := c.files[real]
		if f == nil {
			found, err := Find(c.tree, real)
			if err != nil || found == "" {
				return err
			}
			if f, err = load(c.tree, found); err != nil {
				return err
			}
		}
		folders[real] = f
		for _, resource := range f.Resources {
			if err := add(path.Join(real, resource)); err != nil {
				return err
			}
		}
		return nil
	}
	return texts, folders, add(name)
}

func isChartGenerator(doc *yaml.Node) bool {
	is := func(field, want string) bool {
		_, value, rest := manifest.Walk(doc, field)
		return rest == "" && value.Value == want
	}
	return is("kind", chartGenerator) && is("apiVersion", konfig.BuiltinPluginApiVersion)
}

// check returns an error about a field that kustomize refuses, or that agentry does not support.
func (i inflation) check() error {
	switch {
	case i.Name == "":
		return i.file.at(diag.BuildFailed, i.field, "the chart has no name", "set name")
	case strings.HasPrefix(i.Name, "-"):
		return i.file.at(diag.BuildFailed, i.field+".name", "must not begin with -", "")
	case strings.HasPrefix(i.ReleaseName, "-"):
		return i.file.at(diag.BuildFailed, i.field+".releaseName", "must not begin with -", "")
	case !slices.Contains([]string{"merge", "override", "replace"}, cmp.Or(i.ValuesMerge, "override")):
		return i.file.at(diag.BuildFailed, i.field+".valuesMerge", "must be merge, override or replace", "")
	case i.NameTemplate != "":
		return i.file.at(diag.BuildRefused, i.field+".nameTemplate", "is not supported", "set releaseName instead")
	case i.ReleaseName == "":
		return i.file.at(diag.BuildRefused, i.field,
			"the chart has no releaseName, so Helm would generate a new name each time", "set releaseName")
	}
	return nil
}
