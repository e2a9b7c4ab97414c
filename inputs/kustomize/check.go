package kustomize

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
	"sigs.k8s.io/kustomize/api/konfig"
	"sigs.k8s.io/kustomize/api/types"
	sigsyaml "sigs.k8s.io/yaml"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/inputs/tree"
)

// maxDepth limits the nesting of kustomizations.
const maxDepth = 64

// Refs are the files and folders that a kustomization names, directly and through its bases.
type Refs struct {
	Folders     map[string]bool // with kustomizations of their own
	Files       map[string]bool
	IsComponent bool // the kustomization is a Component
	// Covered are the Folders and Files that are read only as parts of kustomizations. A tenant's kustomization, and
	// its bases, do not cover files of others: naming a file must not remove the objects that others define in it.
	Covered map[string]bool
}

// Inspect returns the files and folders that the kustomization in a folder names. It leaves out invalid
// kustomizations, which [Build] reports. An error is a failure to read files.
func Inspect(t *tree.Tree, folder string, tenants manifest.Tenants, repositories Repositories) (Refs, error) {
	c := newChecker(t)
	c.inspects, c.opts.Repositories = true, repositories
	c.tenants, c.request.Tenants = tenants, tenants
	err := c.folder(folder, false)
	if _, ok := errors.AsType[*diag.Diagnostic](err); ok {
		err = nil
	}
	return c.refs, err
}

// checker reads a kustomization and everything that it names before kustomize does. It refuses what kustomize must not
// do: access the network, run programs, or read outside of the repository.
type checker struct {
	tree  *tree.Tree
	refs  Refs
	files map[string]*file    // kustomizations, by folder
	done  map[string]bool     // checked folders; folders of transformers end in a slash
	stack []string            // folders that are being checked
	bases map[string][]string // base folders of each folder

	tenants   manifest.Tenants // set by Inspect only
	request   Request
	generated string            // the name of the kustomization made for the root, if any
	changed   map[string][]byte // files with content that replaces the tree's
	installed map[string]string // namespaces of charts, by the rendered file in changed
	lookups   map[string]string // templates that used lookup, by the rendered file in changed
	secrets   secretTexts       // decrypted values
	warnings  diag.List         // about what is left out
	opts      Options
	inspects  bool              // remote entries that are not mounted are skipped
	mounts    map[string]mount  // what was fetched, by folder
	remotes   map[string]string // remote entries as they are written, by the folder or file that takes their place
	closers   []func()          // of its files
	leftOut   map[string]string // a remote entry that is left out, by the name of the generator
	unnamed   map[string]bool   // generated objects whose names depend on remote files
	absent    error             // the first remote entry that is missing

	replacements []types.Replacement // of transformers
}

func newChecker(t *tree.Tree) *checker {
	return &checker{tree: t, refs: Refs{Folders: map[string]bool{}, Files: map[string]bool{},
		Covered: map[string]bool{}}, files: map[string]*file{},
		done: map[string]bool{}, bases: map[string][]string{}, changed: map[string][]byte{},
		unnamed: map[string]bool{},
		leftOut: map[string]string{}, mounts: map[string]mount{}, remotes: map[string]string{},
		installed: map[string]string{}, lookups: map[string]string{},
		secrets: secretTexts{texts: map[string]string{}}}
}

// Find returns the kustomization file in a folder, or "" if there is none.
func Find(t *tree.Tree, folder string) (string, error) {
	found := ""
	for _, base := range konfig.RecognizedKustomizationFileNames() {
		name := path.Join(folder, base)
		_, isDir, err := t.Resolve(name)
		switch {
		case errors.Is(err, fs.ErrNotExist) || err == nil && isDir:
		case err != nil:
			return "", err
		case found != "":
			return "", &diag.Diagnostic{Severity: diag.Error, Code: diag.BuildFailed, File: name,
				Message: "the folder has two kustomizations, this one and " + path.Base(found),
				Hint:    "remove one of them"}
		default:
			found = name
		}
	}
	return found, nil
}

func failed(name, message, hint string, names ...string) error {
	return &diag.Diagnostic{Severity: diag.Error, Code: diag.BuildFailed, File: name, Message: message,
		Hint: hint, Names: names}
}

// at returns an error about a field of a kustomization.
func (f *file) at(code diag.Code, field, message, hint string) *diag.Diagnostic {
	shown := field
	if f.writtenAs != nil {
		shown = f.writtenAs(field)
	}
	d := code.At("", "%s", shown+": "+message).As(diag.Error).WithHint(hint)
	d.File, d.Line, d.Column = f.find(field)
	return &d
}

// folder checks the kustomization in a folder, once. A plugin folder has configurations of transformers.
func (c *checker) folder(dir string, isPlugin bool) error {
	key := dir
	if isPlugin {
		key += "/"
	}
	if by := c.tenantFolder(); by != "" {
		key += " for " + by // the covered files depend on the tenant
	}
	if c.done[key] {
		return nil
	}
	f, err := c.open(dir)
	if err != nil {
		return err
	}
	if len(c.stack) == 0 {
		c.refs.IsComponent = f.Kind == types.ComponentKind
	}
	if len(c.stack) == maxDepth {
		return failed(f.name, fmt.Sprintf("kustomizations are nested more than %d levels deep", maxDepth),
			"name the bases directly")
	}
	c.stack = append(c.stack, dir)
	defer func() { c.stack = c.stack[:len(c.stack)-1] }()
	if err := f.refuse(isPlugin); err != nil {
		return err
	}
	if err := c.encrypted(f, dir); err != nil {
		return err
	}
	c.leaveOutRemote(f)
	for _, e := range f.entries() {
		if isPlugin {
			e.use = plugin
		}
		if err := c.entry(f, dir, e); err != nil {
			return err
		}
	}
	c.files[dir], c.done[key] = f, true
	c.note(c.refs.Files, f.name)
	return nil
}

// tenantFolder returns the outermost folder on the stack that belongs to a tenant, or "".
func (c *checker) tenantFolder() string {
	for _, dir := range c.stack {
		if _, isTenant := c.tenants.Of(dir + "/-"); isTenant {
			return dir
		}
	}
	return ""
}

// leadsOut reports whether a tenant's symbolic link leads to a file or folder that is not the tenant's. Nothing would
// show that the tenant is an author of the objects there.
func (c *checker) leadsOut(name, real string) bool {
	tenant, isTenant := c.request.Tenants.Of(name + "/-")
	other, isOther := c.request.Tenants.Of(real + "/-")
	return name != real && isTenant && !(isOther && tenant == other)
}

// note records a file or folder that the current kustomization names.
func (c *checker) note(refs map[string]bool, name string) {
	refs[name] = true
	if !slices.ContainsFunc(c.stack, func(dir string) bool { return !c.tenants.Same(dir, name) }) {
		c.refs.Covered[name] = true
	}
}

// open reads the kustomization of a folder, or generates the root's.
func (c *checker) open(dir string) (*file, error) {
	name, err := Find(c.tree, dir)
	generate := c.request.Generate
	if len(c.stack) > 0 {
		generate = nil
	}
	switch {
	case err != nil:
		return nil, explain(err, dir)
	case name != "" && (generate == nil || generate.File == "" || generate.File == path.Base(name)):
		return load(c.tree, name)
	case generate != nil:
		c.generated = cmp.Or(name, path.Join(dir, "kustomization.yaml"))
		return c.makeKustomization(dir, *generate)
	}
	return nil, failed(dir, "the folder has no kustomization", "add one, or name the files in it")
}

// refuse refuses fields that agentry does not support.
func (f *file) refuse(isPlugin bool) error {
	if len(f.HelmChartInflationGenerator) > 0 {
		return f.at(diag.BuildRefused, "helmChartInflationGenerator", "this deprecated field is not supported",
			"use helmCharts")
	}
	if isPlugin {
		only := types.Kustomization{TypeMeta: f.TypeMeta, MetaData: f.MetaData, Resources: f.Resources}
		if text, other := marshal(f.Kustomization), marshal(only); text != other {
			return failed(f.name, "a folder of transformers may only list them as resources",
				"list them, without other fields")
		}
	}
	return nil
}

// entry checks a path that a kustomization names.
func (c *checker) entry(f *file, dir string, e entry) error {
	switch {
	case isRemote(e.path) && e.at == nil || isRemote(e.path) && e.use == plugin:
		return f.at(diag.BuildRefused, e.field, "is remote, but agentry builds only from the repository",
			"copy it into the repository")
	case isRemote(e.path):
		found, err := c.remote(f, dir, e)
		switch missing, isMissing := errors.AsType[*diag.Diagnostic](err); {
		case isMissing && c.inspects:
			return nil
		case isMissing && missing.Code == diag.BuildFailed:
			c.absent = cmp.Or(c.absent, err) // go on, so that all are fetched together
			return nil
		case err != nil:
			return err
		}
		return c.entry(f, dir, found)
	case isInline(e.path) && e.use == plugin:
		err := c.config([]byte(e.path), f.name)
		if d, ok := errors.AsType[*diag.Diagnostic](err); ok {
			inner := d.Line
			d.Message = e.field + ": " + d.Message
			d.File, d.Line, d.Column = f.find(e.field)
			if node := f.node(e.field); node != nil && node.Style&yaml.LiteralStyle != 0 {
				d.Line, d.Column = node.Line+inner, 0
			}
		}
		return err
	case isInline(e.path) && e.use == patch:
		return nil
	case path.IsAbs(e.path):
		return f.at(diag.BuildRefused, e.field, "is an absolute path", "write it relative to the kustomization")
	}
	real, isDir, err := c.resolve(dir, e)
	switch {
	case errors.Is(err, tree.ErrOutside):
		return f.at(diag.BuildRefused, e.field, strconv.Quote(cmp.Or(e.fetched, e.path))+" "+tree.ErrOutside.Error(),
			"copy it into the repository")
	case errors.Is(err, fs.ErrNotExist) && e.fetched != "":
		return f.at(diag.BuildFailed, e.field, strconv.Quote(e.fetched)+" is not in the repository",
			"correct the path, or its ref")
	case errors.Is(err, fs.ErrNotExist):
		return f.at(diag.BuildFailed, e.field,
			strconv.Quote(e.path)+" is not in the repository, or is hidden by a .sourceignore",
			"correct the path, or add the file")
	case err != nil:
		return explain(err, f.name)
	case c.leadsOut(path.Join(dir, e.path), real):
		return f.at(diag.BuildRefused, e.field,
			strconv.Quote(e.path)+" is behind a symbolic link of a tenant, which leads to "+real+
				" (spec.tenancy.folders)", "name "+real+" itself, or put a copy into the tenant's folder")
	case isDir && (e.use == text || e.use == patch):
		return f.at(diag.BuildFailed, e.field, strconv.Quote(e.path)+" is a folder, but must be a file", "")
	case !isDir && e.use == component:
		return f.at(diag.BuildFailed, e.field,
			strconv.Quote(e.path)+" is a file, but must be a folder with a Component", "")
	case !isDir && e.use == plugin:
		c.note(c.refs.Files, real)
		data, err := c.tree.ReadFile(real)
		if err != nil {
			return explain(err, real)
		}
		return c.config(data, real)
	case !isDir:
		c.note(c.refs.Files, real)
		return nil
	}
	return c.base(f, e, real)
}

// resolve returns the real name of what an entry names. Only what was remote is in another repository.
func (c *checker) resolve(dir string, e entry) (real string, isDir bool, err error) {
	if e.fetched != "" {
		return c.tree.Relative(c.tree.Repository(e.fetched), c.tree.InRepository(e.fetched))
	}
	return c.tree.Relative(dir, e.path)
}

// base checks the kustomization that an entry names.
func (c *checker) base(f *file, e entry, real string) error {
	if slices.ContainsFunc(c.stack, func(s string) bool {
		return s == real || real == "." || strings.HasPrefix(s, real+"/")
	}) {
		return f.at(diag.BuildFailed, e.field,
			strconv.Quote(e.path)+" is circular: it is this folder, or contains a folder that is being built",
			"name a folder beside it")
	}
	if name, err := Find(c.tree, real); err == nil && name == "" {
		return f.at(diag.BuildFailed, e.field, strconv.Quote(e.path)+" is a folder without a kustomization",
			"add one, or name the files in it")
	}
	c.note(c.refs.Folders, real)
	c.bases[c.stack[len(c.stack)-1]] = append(c.bases[c.stack[len(c.stack)-1]], real)
	if err := c.folder(real, e.use == plugin); err != nil {
		return err
	}
	switch isComponent := c.files[real].Kind == types.ComponentKind; {
	case isComponent && e.use == objects:
		return f.at(diag.BuildFailed, e.field, strconv.Quote(e.path)+" is a Component", "name it in components")
	case !isComponent && e.use == component:
		return f.at(diag.BuildFailed, e.field, strconv.Quote(e.path)+" is no Component",
			"name it in resources, or write kind: Component in it")
	}
	return nil
}

// config refuses configurations of generators, transformers and validators that read remote files or run programs, and
// records their replacements.
func (c *checker) config(data []byte, name string) error {
	for doc := range documents(data) {
		if isChartGenerator(doc) { // charts are rendered before kustomize runs, and its values may have any name
			continue
		}
		of := pluginName(doc)
		if remote := remoteIn(doc, false); remote != nil {
			return &diag.Diagnostic{Severity: diag.Error, Code: diag.BuildRefused, File: name, Line: remote.Line,
				Column:  remote.Column,
				Message: of + " reads a remote file, but agentry builds only from the repository",
				Hint:    "copy it into the repository"}
		}
		if _, version, _ := manifest.Walk(doc, "apiVersion"); version.Kind == yaml.ScalarNode &&
			version.Value != konfig.BuiltinPluginApiVersion {
			return &diag.Diagnostic{Severity: diag.Error, Code: diag.BuildRefused, File: name, Line: version.Line,
				Column: version.Column, Message: "agentry does not run plugins: " + of,
				Hint: instead(doc, version.Value)}
		}
		var config struct{ Replacements []types.Replacement }
		if sigsyaml.Unmarshal([]byte(marshalNode(doc)), &config) == nil && len(config.Replacements) > 0 {
			c.replacements = append(c.replacements, config.Replacements...)
		}
	}
	return nil
}

// pluginName names a generator, transformer or validator in messages.
func pluginName(doc *yaml.Node) string {
	_, kind, noKind := manifest.Walk(doc, "kind")
	_, version, noVersion := manifest.Walk(doc, "apiVersion")
	switch {
	case noKind != "" || kind.Value == "":
		return "this document"
	case noVersion != "" || version.Value == konfig.BuiltinPluginApiVersion:
		return fmt.Sprintf("%.100s", kind.Value)
	}
	return fmt.Sprintf("%.100s of %.100s", kind.Value, version.Value)
}

// instead says what to do instead of running a plugin.
func instead(doc *yaml.Node, version string) string {
	switch {
	case strings.HasPrefix(version, "agentry.dev/"):
		return "kustomize build --enable-alpha-plugins --enable-exec shows what this agentry function finds; " +
			"agentry check --build plain . reads the files without the kustomization"
	case isKSOPS(doc):
		return "agentry itself does what KSOPS does if the kustomization lists this file under generators"
	case strings.Contains(strings.ToLower(pluginName(doc)), "sops"):
		return "list the encrypted files in a generator of KSOPS (apiVersion: viaduct.ai/v1, kind: ksops), which " +
			"agentry builds itself, or commit the plugin's output"
	}
	return "use one of kustomize's own plugins (apiVersion: builtin), or commit the plugin's output"
}
