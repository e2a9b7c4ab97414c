package chart

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/Masterminds/semver/v3"
	"go.yaml.in/yaml/v3"
	sigsyaml "sigs.k8s.io/yaml"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/inputs/helm"
	"github.com/agentry-dev/agentry/inputs/tree"
)

const (
	// MaxDependencies limits the dependencies of one chart.
	MaxDependencies = 100

	lockName        = "Chart.lock"
	oldMetadataName = "requirements.yaml" // of charts for Helm 2
	oldLockName     = "requirements.lock"
	subcharts       = "charts/"
	localScheme     = "file://"
)

// Tool is the program whose way of building the dependencies of a chart is followed.
type Tool int

const (
	// Kustomize calls helm template, which fails if a dependency is missing in the folder charts.
	Kustomize Tool = iota
	// ArgoCD runs helm dependency build if one is missing (runHelmBuild in its reposerver/repository): Helm then builds
	// all, and refuses a lock file of other dependencies (Manager.Build in Helm's pkg/downloader).
	ArgoCD
	// Flux builds only those that are missing, in the versions of the lock file (DependencyManager of its
	// source-controller).
	Flux
)

// Local is a chart in a folder of a repository, with its dependencies.
type Local struct {
	Files  []helm.File
	folder string
	built  map[string]string // by the name of a built dependency, its folder, or "" if it was fetched
	away   []awayDependency
}

// File returns the file of the repository that a template comes from, relative to the top of the repository. For a
// template of a fetched dependency it is Chart.yaml, and own is false.
func (l *Local) File(template string) (name string, own bool) {
	if sub, rest, ok := strings.Cut(strings.TrimPrefix(template, subcharts), "/"); ok {
		if folder, isBuilt := l.built[sub]; isBuilt && strings.HasPrefix(template, subcharts) {
			if folder == "" {
				return path.Join(l.folder, FileName), false
			}
			return path.Join(folder, rest), true
		}
	}
	return path.Join(l.folder, template), true
}

// Folder returns the chart in a folder of a repository. Dependencies that are missing in its folder charts are built as
// the tool does it: those with file:// from the repository, others are fetched like any chart. As in Helm, dependencies
// of dependencies are not built. A [*diag.Diagnostic] says why one cannot be built, at its line. One that cannot be
// fetched is empty: [Local.Check] says whether it is needed.
func (r *Renderer) Folder(ctx context.Context, t *tree.Tree, folder string, by Tool) (*Local, error) {
	files, err := readFolder(t, folder)
	if err != nil {
		return nil, err
	}
	b := &builder{renderer: r, tree: t, by: by,
		local: &Local{Files: files, folder: folder, built: map[string]string{}}}
	return b.local, b.build(ctx)
}

// dependency has the fields of Helm's type of this name in the same order, because the digest in a lock file is that of
// their JSON.
type dependency struct {
	Name         string   `json:"name"`
	Version      string   `json:"version,omitempty"`
	Repository   string   `json:"repository"`
	Condition    string   `json:"condition,omitempty"`
	Tags         []string `json:"tags,omitempty"`
	Enabled      bool     `json:"enabled,omitempty"`
	ImportValues []any    `json:"import-values,omitempty"`
	Alias        string   `json:"alias,omitempty"`
}

// metadata is what Chart.yaml, or requirements.yaml, says about dependencies.
type metadata struct {
	APIVersion   string        `json:"apiVersion"`
	Name         string        `json:"name"`
	Version      string        `json:"version"`
	Dependencies []*dependency `json:"dependencies"`
}

// lock is a lock file.
type lock struct {
	Digest       string        `json:"digest"`
	Dependencies []*dependency `json:"dependencies"`
}

// builder builds the dependencies of one chart.
type builder struct {
	renderer *Renderer
	tree     *tree.Tree
	by       Tool
	local    *Local
	metadata metadata
	listed   string // the file that lists the dependencies
	locked   string // the lock file, if there is one
	bytes    int
}

// build adds the dependencies to the chart's files.
func (b *builder) build(ctx context.Context) error {
	if !b.read() {
		return nil // without dependencies, or Helm's loader says what is wrong
	}
	have := b.vendored()
	missing := slices.IndexFunc(b.metadata.Dependencies, func(d *dependency) bool { return have[d.Name] == "" })
	switch {
	case missing < 0:
		return nil
	case b.by == Kustomize:
		return b.missing(b.metadata.Dependencies[missing],
			"is missing in the folder charts, and kustomize does not build dependencies",
			"run helm dependency build, and commit the folder charts")
	}
	wanted, err := b.wanted(have)
	if err != nil {
		return err
	}
	if len(wanted) > MaxDependencies {
		return b.problem(wanted[MaxDependencies], diag.BuildRefused,
			fmt.Sprintf("the chart has more than %d dependencies", MaxDependencies), "split it")
	}
	// All are tried, so that all are fetched together.
	var first error
	done := map[[3]string]bool{}
	for i, d := range wanted {
		key := [...]string{d.Name, d.Version, d.Repository} // aliases share a chart
		if done[key] {
			continue
		}
		done[key] = true
		away := len(b.local.away)
		if err := b.add(ctx, i, d, have); err != nil && len(b.local.away) == away {
			if _, ok := errors.AsType[*diag.Diagnostic](err); !ok {
				return err
			}
			if first == nil {
				first = err
			}
		}
	}
	for _, d := range b.metadata.Dependencies {
		if folder, isBuilt := b.local.built[d.Name]; isBuilt && d.Alias != "" {
			b.local.built[d.Alias] = folder // so Helm names its templates
		}
	}
	return first
}

// read reads the chart's metadata. It reports whether there are dependencies.
func (b *builder) read() bool {
	b.listed = FileName
	for _, name := range []string{FileName, oldMetadataName} { // as Helm's loader does, the second one replaces fields
		text, found := b.file(name)
		if !found {
			continue
		}
		if sigsyaml.Unmarshal(text, &b.metadata) != nil {
			return false
		}
		var own metadata
		if sigsyaml.Unmarshal(text, &own) == nil && len(own.Dependencies) > 0 {
			b.listed = name
		}
	}
	return len(b.metadata.Dependencies) > 0 && !slices.Contains(b.metadata.Dependencies, nil)
}

func (b *builder) file(name string) (text []byte, found bool) {
	for _, f := range b.local.Files {
		if f.Name == name {
			return f.Data, true
		}
	}
	return nil, false
}

// vendored returns the charts in the folder charts: the file or folder of each, by the chart's name.
func (b *builder) vendored() map[string]string {
	out := map[string]string{}
	left := int64(MaxUnpackedBytes)
	for _, f := range b.local.Files {
		name, found := strings.CutPrefix(f.Name, subcharts)
		if !found || strings.HasPrefix(name, "_") || strings.HasPrefix(name, ".") {
			continue
		}
		text := f.Data
		switch dir, base := path.Split(name); {
		case dir == "" && path.Ext(base) == suffix:
			text = metadataIn(f.Data, &left)
		case strings.Count(name, "/") == 1 && base == FileName:
			name = dir
		default:
			continue
		}
		var m metadata
		if sigsyaml.Unmarshal(text, &m) == nil && m.Name != "" { // else Helm's loader says what is wrong
			out[m.Name] = subcharts + name
		}
	}
	return out
}

func metadataOf(files []helm.File) (m metadata) {
	for _, f := range files {
		if f.Name == FileName {
			_ = sigsyaml.Unmarshal(f.Data, &m) // Helm's loader reports the error
		}
	}
	return m
}

// wanted returns the dependencies to build, with exact versions if there is a lock file.
func (b *builder) wanted(have map[string]string) ([]*dependency, error) {
	wanted := b.metadata.Dependencies
	for _, name := range []string{lockName, oldLockName} {
		text, found := b.file(name)
		if !found {
			continue
		}
		b.locked = name
		var locked lock
		wrong := &diag.Diagnostic{Severity: diag.Error, Code: diag.BuildFailed, File: path.Join(b.local.folder, name),
			Hint: "run helm dependency update, and commit the file"}
		if err := sigsyaml.Unmarshal(text, &locked); err != nil || slices.Contains(locked.Dependencies, nil) {
			wrong.Message = "is not a lock file of Helm"
			return nil, wrong
		}
		if !b.isInSync(&locked, have) {
			wrong.Message = "the lock file is out of sync with the dependencies in " + b.listed
			return nil, wrong
		}
		wanted = locked.Dependencies
	}
	if b.by == Flux {
		wanted = slices.DeleteFunc(slices.Clone(wanted), func(d *dependency) bool { return have[d.Name] != "" })
	}
	return wanted, nil
}

// isInSync reports whether a lock file is for the chart's dependencies. Argo CD's Helm compares their digest; Flux only
// needs those that are missing in the folder charts.
func (b *builder) isInSync(of *lock, have map[string]string) bool {
	find := func(name string) *dependency {
		if i := slices.IndexFunc(of.Dependencies, func(d *dependency) bool { return d.Name == name }); i >= 0 {
			return of.Dependencies[i]
		}
		return nil
	}
	asked := make([]*dependency, len(b.metadata.Dependencies))
	for i, d := range b.metadata.Dependencies {
		locked := find(d.Name)
		if locked == nil && have[d.Name] == "" {
			return false
		}
		resolved := *d
		if locked != nil && isRepositoryName(d.Repository) {
			resolved.Repository = locked.Repository // the URL that the name had for who wrote the lock file
		}
		asked[i] = &resolved
	}
	return b.by == Flux || digestOfJSON([2][]*dependency{asked, of.Dependencies}) == of.Digest ||
		b.metadata.APIVersion != "v2" && // the lock file may be of Helm 2
			digestOfJSON(map[string][]*dependency{"dependencies": b.metadata.Dependencies}) == of.Digest
}

func digestOfJSON(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		return "" // cannot happen: it was decoded from JSON
	}
	sum := sha256.Sum256(text)
	return algorithm + hex.EncodeToString(sum[:])
}

// isRepositoryName reports whether a repository is the name of one that was added to Helm on some machine.
func isRepositoryName(repository string) bool {
	return strings.HasPrefix(repository, "@") || strings.HasPrefix(repository, "alias:")
}

// add adds the i-th dependency to the chart's files.
func (b *builder) add(ctx context.Context, i int, d *dependency, have map[string]string) error {
	var files []helm.File
	var folder string
	var err error
	switch {
	case d.Repository == "" && have[d.Name] != "":
		return nil
	case d.Repository == "":
		return b.missing(d, "is missing in the folder charts, and has no repository",
			"add the chart there, or set its repository")
	case strings.HasPrefix(d.Repository, localScheme):
		folder, files, err = b.inTree(d)
	case isRepositoryName(d.Repository):
		return b.problem(d, diag.BuildRefused, "its repository "+quote(d.Repository)+
			" is a name that only some machines know",
			"write the repository's URL, or commit the "+lockName+" that helm dependency update writes")
	default:
		files, err = b.fetch(ctx, d)
	}
	if err != nil {
		return err
	}
	got := metadataOf(files)
	if got.Name != d.Name {
		return b.problem(d, diag.BuildFailed,
			"the chart in its repository has another name: "+quote(got.Name), "correct the name")
	}
	for _, f := range files {
		b.bytes += len(f.Data)
	}
	if have := have[d.Name]; have != "" { // helm dependency build replaces it
		b.local.Files = slices.DeleteFunc(b.local.Files, func(f helm.File) bool {
			return f.Name == have || strings.HasSuffix(have, "/") && strings.HasPrefix(f.Name, have)
		})
	}
	if len(b.local.Files)+len(files) > MaxFiles || b.bytes > MaxUnpackedBytes {
		return b.problem(d, diag.BuildRefused, fmt.Sprintf("with it, the chart has more than %d files, or its "+
			"dependencies more than %d MiB", MaxFiles, MaxUnpackedBytes>>20), "split the chart")
	}
	b.local.built[d.Name] = folder
	for _, f := range files {
		name := fmt.Sprintf("%sdependency-%d/%s", subcharts, i, f.Name) // Helm reads names from Chart.yaml only
		b.local.Files = append(b.local.Files, helm.File{Name: name, Data: f.Data})
	}
	return nil
}

// inTree reads a dependency from a folder of the repository.
func (b *builder) inTree(d *dependency) (folder string, files []helm.File, err error) {
	name := strings.TrimPrefix(d.Repository, localScheme)
	if b.by == Flux {
		name = strings.TrimLeft(name, "/") // Flux reads absolute paths below the chart's folder
	}
	folder, isDir, err := b.tree.Relative(b.local.folder, name)
	switch {
	case errors.Is(err, tree.ErrOutside):
		return "", nil, b.problem(d, diag.BuildRefused, quote(d.Repository)+" "+tree.ErrOutside.Error(),
			"put the chart into the repository, or name the repository of charts that has it (https:// or oci://)")
	case errors.Is(err, fs.ErrNotExist) || err == nil && !isDir:
		return "", nil, b.problem(d, diag.BuildFailed, quote(d.Repository)+" is not a folder of the repository",
			"correct the path, which counts from the chart's folder")
	case err != nil:
		return "", nil, err
	}
	files, err = readFolder(b.tree, folder)
	if err != nil {
		if b.tree.Context().Err() != nil || errors.Is(err, tree.ErrTooMuch) {
			return "", nil, err
		}
		hint := ""
		if hiddenBy(b.tree, folder) != "" {
			hint = correctPattern
		}
		return "", nil, b.problem(d, diag.BuildFailed, err.Error(), hint)
	}
	version := metadataOf(files).Version
	allowed, err := semver.NewConstraint(d.Version)
	if err != nil {
		return "", nil, b.problem(d, diag.BuildFailed,
			quote(d.Version)+" is neither a version nor a range of versions", "")
	}
	if v, err := semver.NewVersion(version); err != nil || !allowed.Check(v) {
		return "", nil, b.problem(d, diag.BuildFailed, fmt.Sprintf("the chart in %s has version %s, not %s", folder,
			quote(version), quote(d.Version)), "correct the version of one of them"+b.ifLocked(d))
	}
	return folder, files, nil
}

// ifLocked returns what else to do if the version is the one of a lock file.
func (b *builder) ifLocked(d *dependency) string {
	if slices.Contains(b.metadata.Dependencies, d) {
		return ""
	}
	return ", or run helm dependency update and commit the lock file"
}

// fetch fetches a dependency.
func (b *builder) fetch(ctx context.Context, d *dependency) ([]helm.File, error) {
	source := Source{URL: d.Repository, Name: d.Name, Version: d.Version}
	if source.isOCI() {
		source.URL, source.Name = strings.TrimSuffix(d.Repository, "/")+"/"+d.Name, ""
	}
	if _, err := source.site(); err != nil {
		return nil, b.problem(d, diag.BuildFailed, err.Error(),
			"write the URL of a repository of charts (https:// or oci://), or file:// and a path from the chart's "+
				"folder")
	}
	files, err := b.renderer.Fetch(ctx, source)
	if away, ok := errors.AsType[*Error](err); ok {
		p := b.problem(d, diag.BuildFailed, away.Error(),
			"to need no network, run helm dependency build and commit the folder charts")
		p.Cause = away.Cause()
		if _, isAbsent := errors.AsType[absentError](err); !isAbsent {
			b.leaveOut(d, p)
		}
		return nil, p
	}
	return files, err
}

// correctPattern is what to do about a chart that a .sourceignore hides.
const correctPattern = "correct the pattern, which counts from the folder of its file"

// missing returns the error about a dependency that is not in the folder charts, or is hidden there.
func (b *builder) missing(d *dependency, message, hint string) error {
	if by := hiddenBy(b.tree, path.Join(b.local.folder, subcharts, d.Name)); by != "" {
		message, hint = "the folder "+subcharts+d.Name+" holds no chart"+by, correctPattern
	}
	return b.problem(d, diag.BuildFailed, message, hint)
}

// problem returns an error about a dependency: at its line in Chart.yaml or, if only the lock file has it, there.
func (b *builder) problem(d *dependency, code diag.Code, message, hint string) *diag.Diagnostic {
	out := &diag.Diagnostic{Severity: diag.Error, Code: code, File: path.Join(b.local.folder, b.listed),
		Message: "dependency " + quote(d.Name) + ": " + message, Hint: hint}
	i := slices.Index(b.metadata.Dependencies, d)
	if i < 0 {
		i = slices.IndexFunc(b.metadata.Dependencies, func(of *dependency) bool { return of.Name == d.Name })
	}
	if i < 0 {
		out.File = path.Join(b.local.folder, b.locked)
		return out
	}
	text, _ := b.file(b.listed)
	var document struct{ Dependencies []yaml.Node }
	if yaml.Unmarshal(text, &document) == nil && i < len(document.Dependencies) {
		out.Line, out.Column = document.Dependencies[i].Line, document.Dependencies[i].Column
	}
	return out
}

// quote quotes text of a chart in a message.
func quote(text string) string { return fmt.Sprintf("%.200q", text) }
