package kustomize

import (
	"net/url"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	"sigs.k8s.io/kustomize/api/types"

	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/inputs/tree"
	"github.com/agentry-dev/agentry/internal/lazyregexp"
)

// file is a kustomization file.
type file struct {
	types.Kustomization
	name string // from the top of the repository
	// find returns the position of a field, with line 0 if it is not in the file.
	find func(field string) (file string, line, column int)
	// writtenAs returns the field to show for one that the file does not have itself; nil: all are in the file.
	writtenAs func(field string) string
	root      *yaml.Node // the document of the file, if there is one
	// inflated are the charts by the resources that take their places, such as resources[2].
	inflated map[string]inflation
}

// node returns the value of a field in the file, or nil.
func (f *file) node(field string) *yaml.Node {
	if f.root == nil {
		return nil
	}
	_, value, rest := manifest.Walk(f.root, field)
	if rest != "" {
		return nil
	}
	return value
}

// use says how a kustomization uses an entry.
type use int

const (
	objects   use = iota // a file of manifests, or a folder with a kustomization
	component            // a folder with a kustomization of kind Component
	plugin               // a file or a folder with configurations of transformers
	text                 // an arbitrary file
	patch                // a file with a patch, or the patch itself
)

// entry is a path that a kustomization names.
type entry struct {
	path  string
	use   use
	field string  // such as resources[2]
	at    *string // the field, if the entry may be remote
	// fetched is the name in the tree of what was remote: it may be in another repository.
	fetched string
}

// entries returns all paths that a kustomization names.
func (f *file) entries() []entry {
	var out []entry
	add := func(use use, field string, paths ...string) {
		for i, p := range paths {
			out = append(out, entry{path: p, use: use, field: field + index(i), at: &paths[i]})
		}
	}
	add(objects, "resources", f.Resources...)
	add(objects, "bases", f.Bases...) //lint:ignore SA1019 kustomize still reads it
	add(component, "components", f.Components...)
	add(text, "crds", f.Crds...)
	add(text, "configurations", f.Configurations...)
	add(plugin, "generators", f.Generators...)
	add(plugin, "transformers", f.Transformers...)
	add(plugin, "validators", f.Validators...)
	one := func(field string, i int, p *string) {
		if *p != "" {
			out = append(out, entry{path: *p, use: text, field: field + index(i) + ".path", at: p})
		}
	}
	for i := range f.Patches {
		one("patches", i, &f.Patches[i].Path)
	}
	//lint:ignore SA1019 kustomize still reads it
	for i := range f.PatchesJson6902 {
		one("patchesJson6902", i, &f.PatchesJson6902[i].Path) //lint:ignore SA1019 kustomize still reads it
	}
	//lint:ignore SA1019 kustomize still reads it
	for i := range f.PatchesStrategicMerge {
		p := (*string)(&f.PatchesStrategicMerge[i]) //lint:ignore SA1019 kustomize still reads it
		out = append(out, entry{path: *p, use: patch, field: "patchesStrategicMerge" + index(i), at: p})
	}
	for i := range f.Replacements {
		one("replacements", i, &f.Replacements[i].Path)
	}
	for i, g := range f.ConfigMapGenerator {
		out = append(out, sources("configMapGenerator"+index(i), g.KvPairSources)...)
	}
	for i, g := range f.SecretGenerator {
		out = append(out, sources("secretGenerator"+index(i), g.KvPairSources)...)
	}
	if p := f.OpenAPI["path"]; p != "" {
		out = append(out, entry{path: p, use: text, field: "openapi.path"})
	}
	return out
}

// sources returns the files of a generator of ConfigMaps or Secrets.
func sources(field string, s types.KvPairSources) []entry {
	var out []entry
	for i, p := range s.FileSources {
		if key, name, found := strings.Cut(p, "="); found && !strings.Contains(key, "://") { // else it is of a URL
			p = name
		}
		out = append(out, entry{path: p, use: text, field: field + ".files" + index(i)})
	}
	for i, p := range s.EnvSources {
		out = append(out, entry{path: p, use: text, field: field + ".envs" + index(i)})
	}
	if s.EnvSource != "" {
		out = append(out, entry{path: s.EnvSource, use: text, field: field + ".env"})
	}
	return out
}

// isInline reports whether an entry is YAML itself, not a path.
func isInline(s string) bool { return strings.Contains(s, "\n") || strings.Contains(s, ": ") }

// scp matches user@host, which Git accepts as a remote.
var scp = lazyregexp.New(`^[A-Za-z][A-Za-z0-9-]*@`)

// isRemote reports whether kustomize would take an entry for a remote path. It must not miss any.
func isRemote(s string) bool {
	if u, err := url.Parse(s); err == nil && (u.Scheme == "http" || u.Scheme == "https") {
		return true
	}
	lower := strings.TrimPrefix(strings.ToLower(s), "git::")
	for _, prefix := range []string{"ssh://", "https://", "http://", "file://", "github.com/", "github.com:", "git::"} {
		if strings.HasPrefix(lower, prefix) {
			return true
		}
	}
	return scp.MatchString(lower) || !isInline(s) && strings.Contains(s, "://")
}

// NamesObjects reports whether a kustomization names anything that can give objects.
func NamesObjects(t *tree.Tree, file string) bool {
	f, err := load(t, file)
	return err == nil && slices.ContainsFunc(f.entries(), func(e entry) bool {
		return e.use == objects || e.use == component
	})
}
