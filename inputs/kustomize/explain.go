package kustomize

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"maps"
	"path"
	"regexp"
	"slices"

	"go.yaml.in/yaml/v3"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/inputs/kustomizer"
	"github.com/agentry-dev/agentry/internal/lazyregexp"
)

// cause is a known error of kustomize, and the message to show instead. Its groups match only names of
// objects and fields, and fixed words.
type cause struct {
	pattern       *regexp.Regexp
	message, hint string // $1 is the first group
}

// name matches kustomize's notation of an object: Kind.version.group/name.namespace.
const name = `([A-Za-z0-9.\[\]_-]{1,300}/[A-Za-z0-9.\[\]_-]{1,300})`

// regexpErrors matches the errors of Go's package regexp, without what they quote.
const regexpErrors = `invalid (?:UTF-8|or unsupported Perl syntax|character class(?: range)?|escape sequence|` +
	`named capture|nested repetition operator|repeat count)|missing (?:closing [\])]|argument to repetition operator)|` +
	`trailing backslash at end of expression|unexpected \)|expression (?:nests too deeply|too large)`

// unknownParts matches the placeholders for unset parts of such a name.
var unknownParts = lazyregexp.New(`\.\[no[A-Za-z]{2,4}\]`)

func causes() []cause {
	known := func(pattern, message, hint string) cause { return cause{regexp.MustCompile(pattern), message, hint} }
	return []cause{
		known(`(?:no matches for Id|no resource matches strategic merge patch) "?`+name,
			"a patch targets $1, which does not exist", "correct the patch's kind, name and namespace"),
		known(`unable to find patch target`, "a patch targets an object that does not exist",
			"correct the patch's target"),
		known(`must specify a target`, "a JSON patch has no target", "say which objects it is for"),
		known(`unable to parse SM or JSON patch`, "a patch is neither part of an object nor a list of operations",
			"correct it"),
		known(`exists; behavior must be|behavior must be merge or replace`,
			"a generator makes an object that already exists",
			"set behavior: merge or replace, or rename one of them"),
		known(`does not exist; cannot merge or replace`, "a generator changes an object that does not exist",
			"remove behavior from it"),
		known(`invalid literal source`, "a literal of a generator is not key=value", "write it as key=value"),
		known(`missing metadata\.name`, "an object has no metadata.name", "set it"),
		known(`accumulating resources from '([^'\s]{1,200})': missing Resource metadata`,
			"$1 is not a Kubernetes object", "remove it from the resources"),
		known(`testing (?:path|value) \S{0,200} failed`, "the test of a JSON patch fails", "correct the patch"),
		known(`Unexpected kind: `, "a JSON patch has an unknown operation",
			"write add, remove, replace, move, copy or test"),
		known(`operation does not apply|doc is missing (?:path|key)`,
			"a JSON patch does not fit its target", "correct the paths of its operations"),
		known(`unable to find field|is missing for replacement source`,
			"a replacement names a field that does not exist", "correct its fieldPath, or set options.create"),
		known(`nothing selected by`, "a replacement selects no object", "correct its source"),
		known(`multiple matches for selector`, "a replacement selects several objects",
			"make its source more specific"),
		known(`error parsing regexp: (`+regexpErrors+`)`, "a selector is not a regular expression: $1",
			"correct it, or write a backslash before its special characters"),
		known("illegally repeats the key", "a generator has the same key twice", "remove or rename one of them"),
		known(`json: unknown field "([A-Za-z0-9_-]{1,64})"`, "has the unknown field $1", "remove it, or correct its name"),
		known(`cannot unmarshal [a-z]{1,10}(?: \S{1,40})? into Go struct field [A-Za-z]{1,64}\.([A-Za-z0-9_.-]{1,64}) of`,
			"the field $1 has a value of the wrong type", "correct it"),
		known(`the field 'sortOptions\.order' must be one of \[fifo, legacy\]`, "order must be fifo or legacy",
			"write one of them"),
		known(`exceeding the limit ([0-9]{1,12})$`, "the copy operations of a JSON patch add more than $1 bytes",
			"copy less"),
		known("^"+kustomizer.Crash+"$", kustomizer.Crash,
			"write it in another way: kustomize build crashes on it, too"),
		known(`kustomization\.yaml is empty`, "the kustomization is empty", "list resources in it"),
		known(`namespace transformation produces ID conflict`,
			"two objects would have the same name in one namespace, or all Namespaces the same name",
			"rename one of them, or list Namespaces in another kustomization"),
	}
}

// explain says why kustomize refused the kustomization. A broken file takes precedence over other causes.
func (b *builder) explain(ctx context.Context, refusal string) error {
	c, at, field := b.checker, b.root, ""
	if err := c.brokenFile(); err != nil {
		return err
	}
	blame, err := b.blame(ctx)
	if err != nil {
		return err
	}
	if found := c.files[blame.Folder]; found != nil {
		at, field = found, blame.Field
		refusal = cmp.Or(blame.Refusal, refusal)
	}
	if blame.Operation != nil {
		return b.failedOperation(at, field, *blame.Operation)
	}
	_, isChart := at.inflated[field]
	if _, line, _ := at.find(field); line == 0 && !isChart { // it is an addition of a custom resource
		field = ""
	}
	if by := b.leftOutSource(at, field); by != "" {
		return at.failed(field, "its source is generated without a remote file: "+by,
			"copy the file into the repository, or correct the source's fieldPath")
	}
	if err := b.twice(at, field, refusal); err != nil {
		return err
	}
	for _, known := range causes() {
		if m := known.pattern.FindStringSubmatchIndex(refusal); m != nil {
			message := string(known.pattern.ExpandString(nil, known.message, refusal, m))
			return at.failed(field, unknownParts.ReplaceAllString(message, ""), known.hint)
		}
	}
	message := "kustomize refuses it"
	if words := c.words(refusal); words != "" {
		message = "kustomize says: " + words
	}
	folder := path.Dir(at.name)
	return at.failed(field, message, "run kustomize build "+folder+
		" to see its whole message; what could be a value of a Secret is left out here", folder)
}

// brokenFile returns the error about the first file that kustomize cannot read, or nil.
func (c *checker) brokenFile() error {
	for file, text := range c.namedManifests() {
		r := manifest.Parse(manifest.File{Path: file, Data: text}, manifest.Options{DefaultNamespace: "default"})
		if len(r.Encrypted) > 0 {
			return &diag.Diagnostic{Severity: diag.Error, Code: diag.EncryptedFile, File: file, Line: 1,
				Column: 1, Message: "the file cannot be built: it is encrypted with git-crypt",
				Hint: "encrypt it with SOPS instead, or remove it from the kustomization"}
		}
		for _, d := range r.Diags {
			if r.Broken > 0 && d.Severity == diag.Error && d.Object == (diag.Object{}) {
				return unbuildable(d)
			}
		}
		// Syntax also checks files of kinds that agentry does not read.
		if d, found := manifest.Syntax(manifest.File{Path: file, Data: text}); found {
			return unbuildable(d)
		}
	}
	return nil
}

// namedManifests yields the manifests that the kustomizations name, in order.
func (c *checker) namedManifests() iter.Seq2[string, []byte] {
	return func(yield func(string, []byte) bool) {
		for _, file := range slices.Sorted(maps.Keys(c.refs.Files)) {
			text, found := c.tree.Texts()[file]
			if !found || c.isKustomization(file) || !manifest.IsManifestPath(path.Base(file)) {
				continue
			}
			if !yield(file, text) {
				return
			}
		}
	}
}

// unwritable returns the error about an object that kustomize reads, but cannot write: a key of it is there twice, or
// is not a string. problem says so without a place.
func (b *builder) unwritable(problem, hint string) error {
	if err := b.brokenFile(); err != nil {
		return err
	}
	for file, text := range b.namedManifests() {
		for doc := range documents(text) {
			if key := unquotedKey(doc); key != nil {
				return &diag.Diagnostic{Severity: diag.Error, Code: diag.BuildFailed, File: file, Line: key.Line,
					Column:  key.Column,
					Message: fmt.Sprintf("the file cannot be built: the key %.64s is not a string", key.Value),
					Hint:    "write it in quotes"}
			}
		}
	}
	return failed(b.root.name, problem, hint)
}

// unquotedKey returns the first key in a node that is not a string, or nil.
func unquotedKey(node *yaml.Node) *yaml.Node {
	for i, inner := range node.Content {
		if tag := inner.ShortTag(); node.Kind == yaml.MappingNode && i%2 == 0 && tag != "!!str" && tag != "!!merge" {
			return inner
		}
		if found := unquotedKey(inner); found != nil {
			return found
		}
	}
	return nil
}

// unbuildable returns the error about a file because of which kustomize fails.
func unbuildable(d diag.Diagnostic) error {
	if d.Path == "" {
		d.Message = "the file cannot be built: " + d.Message
	} else {
		d.Message += "; the file cannot be built"
	}
	return &d
}

// blame finds the entry that makes the kustomization fail.
func (b *builder) blame(ctx context.Context) (kustomizer.Blame, error) {
	b.changed[b.root.name] = []byte(marshal(b.root.Kustomization))
	view := &files{tree: b.tree, checked: b.files, changed: b.changed}
	var all []kustomizer.Kustomization
	for _, dir := range slices.Sorted(maps.Keys(b.files)) {
		all = append(all, kustomizer.Kustomization{Folder: dir, File: b.files[dir].name})
	}
	job := kustomizer.Job{Folder: b.folder, SetsSchemas: b.schemas()}
	return b.opts.Kustomize.Blame(ctx, b.filled(job, view), all, view.open)
}

// failedOperation returns the error about an operation of a JSON patch at an entry.
func (b *builder) failedOperation(f *file, field string, o kustomizer.Operation) error {
	d := diag.Diagnostic{Severity: diag.Error, Code: diag.BuildFailed, File: f.name, Hint: o.Hint}
	var n int
	_, err := fmt.Sscanf(field, "patches[%d]", &n)
	asked := n - (len(f.Patches) - len(b.request.Change.Patches))
	switch inline := f.node(field + ".patch"); {
	case o.File != "":
		d.File = o.File
		for list := range documents(b.textOf(o.File)) {
			if o.Index < len(list.Content) {
				d.Line, d.Column = list.Content[o.Index].Line, list.Content[o.Index].Column
			}
			break
		}
	case inline != nil && inline.Style&yaml.LiteralStyle != 0:
		d.Line = inline.Line
		for list := range documents([]byte(inline.Value)) {
			if o.Index < len(list.Content) {
				d.Line += list.Content[o.Index].Line
			}
			break
		}
	case inline != nil:
		d.Line, d.Column = inline.Line, inline.Column
	case err == nil && b.request.Find != nil && f == b.root && asked >= 0:
		field = "patches" + index(asked)
		d.File, d.Line, d.Column = b.request.Find(field)
	}
	d.Message = fmt.Sprintf("%s, operation %d (%s): %s %s", field, o.Index+1, o.Text, o.Object, o.Problem)
	return &d
}

// failed returns an error about an entry of a kustomization, such as a rendered chart, or about the kustomization as a
// whole. names are the files and folders that it names.
func (f *file) failed(field, message, hint string, names ...string) error {
	if field == "" {
		return failed(f.name, message, hint, names...)
	}
	if of, found := f.inflated[field]; found {
		f, field = of.file, of.field
	}
	return new(f.at(diag.BuildFailed, field, message, hint).Naming(names...))
}

func (c *checker) isKustomization(file string) bool {
	f := c.files[path.Dir(file)]
	return f != nil && f.name == file
}

// leftOutSource returns the remote entry that is left out of the source of a replacement, or "".
func (c *checker) leftOutSource(f *file, field string) string {
	for i, r := range f.Replacements {
		if field == "replacements"+index(i) && r.Source != nil {
			return c.leftOut[r.Source.Name]
		}
	}
	return ""
}
