package argocd

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/inputs/kustomize"
	"github.com/agentry-dev/agentry/inputs/kustomizer"
	"github.com/agentry-dev/agentry/inputs/roots"
	"github.com/agentry-dev/agentry/inputs/tree"
)

// applicationMaker builds the root of an Application.
type applicationMaker struct {
	Application
	Repositories roots.Repositories
	Plugins      map[string]Plugin `json:",omitempty"`
}

var _ roots.Maker = applicationMaker{}

// build is the build of one Application.
type build struct {
	app   *Application
	root  roots.Root
	opts  roots.Options
	files *tree.Tree
	known roots.Repositories
	refs  map[string]repository
	// plugins says what is built in place of plugins.
	plugins map[string]Plugin
	made    bool // whether a source gave any object but hooks, also of a kind that is not read
	hooks   bool // whether a source gave a hook
}

// Make implements [roots.Maker]. It returns the objects of all sources. If several sources have an object, the last
// one wins.
func (m applicationMaker) Make(ctx context.Context, t *tree.Tree, r roots.Root, opts roots.Options) ([]manifest.Built,
	error) {
	b := &build{app: &m.Application, root: r, opts: opts, files: t, known: m.Repositories,
		refs: map[string]repository{}, plugins: m.Plugins}
	for _, s := range m.Spec.Sources {
		if s.Ref == "" {
			continue
		}
		top, err := find(b.known, s.Field+".repoURL", s.RepoURL)
		if err != nil {
			return nil, err
		}
		b.refs["$"+s.Ref] = repository{t, top}
	}
	var out []manifest.Built
	for i := range m.Spec.Sources {
		s := &m.Spec.Sources[i]
		if s.IsReference() {
			continue
		}
		docs, err := b.source(ctx, s)
		if err != nil {
			return nil, err
		}
		for _, d := range docs {
			b.note(d)
		}
		if out = append(out, docs...); len(out) > kustomizer.MaxObjects {
			return nil, problem(s.Field, "split the Application", "it has more than %d objects", kustomizer.MaxObjects)
		}
	}
	if !b.made {
		return nil, b.nothing()
	}
	return b.effective(out), nil
}

// wholePath says how a pattern of a directory is to be written.
const wholePath = "correct the pattern: it is compared with the whole path below the folder, and * also matches /"

// note notes that a source gives a document.
func (b *build) note(doc manifest.Built) {
	if b.made {
		return
	}
	isHook := hasHook(doc.Text)
	b.hooks = b.hooks || isHook
	b.made = !isHook && isObject(doc)
}

// nothing says why no source gives an object.
func (b *build) nothing() error {
	if b.hooks {
		return roots.Nothing("spec", "add an object that stays, or remove the custom resource",
			"all its objects are hooks, which are left out: they do not stay in the cluster")
	}
	i := slices.IndexFunc(b.app.Spec.Sources, func(s Source) bool { return !s.IsReference() })
	if i < 0 {
		return roots.Nothing("spec.sources", "add a source with a path or a chart",
			"no source has a path or a chart, so it gives no object")
	}
	s := &b.app.Spec.Sources[i]
	if s.Chart != "" || s.isOCI() {
		return roots.NothingRendered(s.Field + ".chart")
	}
	top, err := find(b.known, s.Field+".repoURL", s.RepoURL)
	if err != nil {
		return err
	}
	folder, _, err := repository{b.files, top}.Resolve(s.Path)
	if err != nil {
		return readProblem(s.Field+".path", err)
	}
	switch kind, err := b.kindOf(s, folder); {
	case err != nil:
		return err
	case kind == chartFolder:
		return roots.NothingRendered(s.Field + ".path")
	case kind == directory:
		of := cmp.Or(s.Directory, &DirectorySource{})
		patterns := of.patterns()
		names, err := b.manifests(*of, folder)
		all, _ := b.manifests(DirectorySource{Recurse: of.Recurse}, folder)
		switch leftOut := len(all) - len(names); {
		case err == nil && len(names) > 0 && leftOut > 0:
			return roots.Nothing(s.Field+".directory."+patterns[0], wholePath,
				"no YAML in the folder %s is a Kubernetes object, besides what is left out by %s",
				b.files.InRepository(folder), strings.Join(patterns, " and "))
		case err == nil && len(names) > 0:
			return roots.Nothing(s.Field+".path", "correct the path", "no YAML in the folder %s is a Kubernetes object",
				b.files.InRepository(folder))
		case err == nil && leftOut > 0:
			return roots.Nothing(s.Field+".directory."+patterns[0], wholePath,
				"all files of the folder %s are left out by %s, such as %s", b.files.InRepository(folder),
				strings.Join(patterns, " and "), b.files.InRepository(all[0]))
		}
		below, err := filesBelow(repository{b.files, "."}, folder, 0)
		if err == nil && !of.Recurse && slices.ContainsFunc(below, manifest.IsManifestPath) {
			return roots.Nothing(s.Field+".path", "set directory.recurse: true to read the folders below",
				"there is no manifest in the folder %s itself", b.files.InRepository(folder))
		}
	}
	return roots.NothingIn(b.files, s.Field+".path", folder)
}

// source builds the objects of one source.
func (b *build) source(ctx context.Context, s *Source) ([]manifest.Built, error) {
	if err := b.checkPlugin(s); err != nil {
		return nil, err
	}
	if s.Chart != "" || s.isOCI() {
		return b.remoteChart(ctx, s)
	}
	top, err := find(b.known, s.Field+".repoURL", s.RepoURL)
	if err != nil {
		return nil, err
	}
	in := repository{b.files, top}
	folder, isDir, err := in.Resolve(s.Path)
	switch {
	case errors.Is(err, fs.ErrNotExist) || errors.Is(err, tree.ErrOutside) || err == nil && !isDir:
		return nil, problem(s.Field+".path", "correct it", "the folder %.200s is not in the repository", s.Path)
	case err != nil:
		return nil, readProblem(s.Field+".path", err)
	}
	if s, err = b.withOverrides(s, folder); err != nil {
		return nil, err
	}
	kind, err := b.kindOf(s, folder)
	switch {
	case err != nil:
		return nil, err
	case kind == kustomization:
		return b.kustomization(ctx, s, folder)
	case kind == chartFolder:
		return b.chart(ctx, s, in, folder)
	}
	return b.directory(s, folder)
}

// Kinds of folders.
const (
	kustomization = "kustomization"
	chartFolder   = "chart"
	directory     = "directory"
)

// kindOf returns the kind of a source's folder, from the Application's fields or else from the files in it.
func (b *build) kindOf(s *Source, folder string) (string, error) {
	switch {
	case s.Plugin != nil:
		return kustomization, nil
	case s.Helm != nil:
		return chartFolder, nil
	case s.Kustomize != nil:
		return kustomization, nil
	case s.Directory != nil && (s.Directory.Recurse || s.Directory.Include+s.Directory.Exclude != ""):
		return directory, nil
	}
	name, err := kustomize.Find(b.files, folder)
	if err != nil || name != "" {
		return kustomization, err
	}
	_, isDir, err := b.files.Resolve(path.Join(folder, "Chart.yaml"))
	switch {
	case errors.Is(err, fs.ErrNotExist) || err == nil && isDir:
		return directory, nil
	case err != nil:
		return "", readProblem(s.Field+".path", err)
	}
	return chartFolder, nil
}

// withOverrides returns a source with the changes in .argocd-source.yaml and .argocd-source-NAME.yaml of its folder.
func (b *build) withOverrides(s *Source, folder string) (*Source, error) {
	out := *s
	for _, name := range []string{".argocd-source.yaml", ".argocd-source-" + b.app.Metadata.Name + ".yaml"} {
		text, err := b.files.ReadFile(path.Join(folder, name))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		var change, have map[string]any
		if err != nil {
			return nil, readProblem(s.Field+".path", err)
		}
		if err := errors.Join(yaml.Unmarshal(text, &change), convert(out, "", &have)); err != nil {
			return nil, problem(s.Field+".path", "", "%s is not a patch of a source", path.Join(folder, name))
		}
		changed := Source{}
		if err := convert(applyPatch(have, change), s.Field, &changed); err != nil {
			return nil, problem(s.Field+".path", "compare it with Argo CD's reference",
				"%s: a field has a value of the wrong type", path.Join(folder, name))
		}
		changed.RepoURL, changed.Path, changed.TargetRevision, changed.Chart, changed.Field = s.RepoURL, s.Path,
			s.TargetRevision, s.Chart, s.Field
		out = changed
	}
	return &out, out.check()
}

// effective drops hooks, which Argo CD applies only temporarily, and objects that a later source replaces.
func (b *build) effective(docs []manifest.Built) []manifest.Built {
	several := len(b.app.Spec.Sources)-len(b.refs) > 1
	kept := make([]bool, len(docs))
	seen := map[string]bool{}
	for i, doc := range slices.Backward(docs) {
		kept[i] = true
		if !several && !bytes.Contains(doc.Text, []byte("hook")) {
			continue
		}
		var head struct {
			Kind     string
			Metadata struct{ Namespace, Name string }
		}
		if yaml.Unmarshal(doc.Text, &head) != nil || head.Metadata.Name == "" {
			continue // parsing reports it
		}
		id := head.Kind + "/" + cmp.Or(head.Metadata.Namespace, b.app.Spec.Destination.Namespace) + "/" +
			head.Metadata.Name
		kept[i] = !seen[id] && !hasHook(doc.Text)
		seen[id] = several
	}
	var out []manifest.Built
	for i, doc := range docs {
		if kept[i] {
			out = append(out, doc)
		}
	}
	return out
}

// hasHook reports whether a document is a hook of Argo CD or Helm.
func hasHook(text []byte) bool {
	var head struct {
		Metadata struct{ Annotations map[string]string }
	}
	if !bytes.Contains(text, []byte("hook")) || yaml.Unmarshal(text, &head) != nil {
		return false
	}
	return head.Metadata.Annotations["argocd.argoproj.io/hook"]+head.Metadata.Annotations["helm.sh/hook"] != ""
}
