// Package manifest turns YAML and JSON into typed objects, each with the position that it was read from. It
// does to them what the API server would do, because no API server stands between Git and the rendered output.
//
// [Parse] reads one file. It knows the kinds that agentry renders (the custom resources of the Grafana Agent
// Operator, the monitors of the Prometheus Operator) and those that they refer to (Secret, ConfigMap,
// Namespace), and reads objects of the kinds that are passed through. Everything else is ignored and counted. The CRDs'
// defaults are set. What kubectl or the API server would refuse, as an unknown field, is an error and left out. Every
// finding is a diagnostic with file, line and column. [NewSet] merges the objects of many files.
//
// Promises:
//   - Pure: no I/O but by [File.Again], no clock, nothing kept between calls. Safe for concurrent use.
//   - YAML means the same as for kubectl (YAML 1.1, converted to JSON).
//   - Bounded: each limit is a constant below, or of package yamlvalue.
//   - A broken document does not affect other documents, and a broken file no other file.
//   - No diagnostic contains a byte of a Secret's data.
package manifest

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"iter"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/agentry-dev/agentry/generator/api/v1alpha1"
	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/internal/yamlvalue"
	"github.com/agentry-dev/agentry/generator/manifest/internal/stream"
	"github.com/agentry-dev/agentry/generator/passthrough"
	"github.com/agentry-dev/agentry/internal/lazyregexp"
)

const (
	// MaxFileBytes limits the size of a file.
	MaxFileBytes = 8 << 20
	// MaxDocuments limits the documents of a file.
	MaxDocuments = 10_000
	// MaxListItems limits the objects of a List.
	MaxListItems = 10_000
	// MaxFindings limits the findings about one object.
	MaxFindings = 50
)

// Compatibility says whose behaviour to follow where today's Prometheus Operator and the Grafana Agent Operator differ.
//
// +kubebuilder:validation:Enum=operator;current
type Compatibility string

const (
	// Operator follows the Grafana Agent Operator v0.44.8: an empty string counts as absent, so it is never invalid.
	Operator Compatibility = "operator"
	// Current follows today's Prometheus Operator and its CRDs.
	Current Compatibility = "current"
)

// UnknownFields is the severity of a field that the kind of its object does not have.
//
// +kubebuilder:validation:Enum=error;warn
type UnknownFields string

const (
	// RefuseUnknownFields makes it an error of the object, as kubectl does by default.
	RefuseUnknownFields UnknownFields = "error"
	// IgnoreUnknownFields makes it a warning, and reads the object without the field, as the API server does.
	IgnoreUnknownFields UnknownFields = "warn"
)

// Options are the settings that change the objects that are read.
type Options struct {
	// DefaultNamespace is the namespace of objects without one. If it is empty, such an object is an error.
	DefaultNamespace string
	// NamespaceFrom takes the default namespace from a file's path instead, where it matches: a pattern such as
	// namespaces/{namespace}/**, in which * is any name and ** are any folders. See [CheckNamespaceFrom].
	NamespaceFrom string
	inFolder      bool // DefaultNamespace comes from the file's folder, or from the object that applies it
	// Compatibility defaults to [Operator].
	Compatibility Compatibility
	// UnknownFields defaults to [RefuseUnknownFields].
	UnknownFields UnknownFields
	// PassThrough are the kinds of objects that are read to be copied.
	PassThrough passthrough.Kinds
	// Tenants says which files are a tenant's, and may define objects in the tenant's namespace only.
	Tenants Tenants
	// Mentions returns what [Object.Mentions] has; nil if nobody asks for that.
	Mentions func(*Object) []ID
}

// PathOptions are what the options make of a file's path. Two files with the same content and equal PathOptions have
// the same result, but for the path.
type PathOptions struct {
	namespace, tenant string
	isTenant          bool
}

// OfPath returns what the options make of a file's path.
func (o Options) OfPath(path string) (of PathOptions) {
	of.namespace = namespaceFrom(o.NamespaceFrom, path)
	of.tenant, of.isTenant = o.Tenants.Of(path)
	return of
}

// Of returns the options for a file.
func (o Options) Of(path string) Options {
	if namespace := namespaceFrom(o.NamespaceFrom, path); namespace != "" {
		o.DefaultNamespace, o.inFolder = namespace, true
	}
	o.NamespaceFrom = ""
	return o
}

// withDefaults returns the options with the defaults of what they leave open.
func (o Options) withDefaults() Options {
	o.Compatibility = cmp.Or(o.Compatibility, Operator)
	return o
}

// In returns the options for objects that are applied to a namespace, if they name none.
func (o Options) In(namespace string) Options {
	o.DefaultNamespace, o.NamespaceFrom, o.inFolder = namespace, "", true
	return o
}

// Result is the content of a file.
type Result struct {
	Objects []*Object
	Diags   diag.List
	// Named are objects of which only the name is used.
	Named []Named
	// Rights are Roles, ClusterRoles and their bindings. They count as ignored, because nothing is rendered from them.
	Rights []*Object
	// Ignored counts objects of kinds that agentry does not read, by "apiVersion Kind".
	Ignored map[string]int
	// Invalid are the objects that were left out because of an error, if they have a name.
	Invalid []ID
	// LeftOut are the same objects. Only their metadata can be used; see also [Result.IgnoreUnknownFields].
	LeftOut []*Object
	// Broken counts documents that could not be read as an object. It is unknown what they define: an object
	// that is missing could be in one of them, so it must not be deleted.
	Broken int
	// BrokenKinds are the kinds that these documents name; "" is for one that names none. If nothing is known of
	// them, it is empty.
	BrokenKinds []string
	// Encrypted are files that git-crypt encrypted. [Set.Diags] reports them together.
	Encrypted []EncryptedFile

	of *contents
}

// IsEmpty reports whether the file has no document.
func (r *Result) IsEmpty() bool {
	return len(r.Objects)+len(r.LeftOut)+len(r.Ignored)+len(r.Invalid)+r.Broken == 0
}

// EncryptedFile is a file that cannot be read as a whole.
type EncryptedFile struct{ Source, Path string }

// Parse reads one file. The result does not refer to the file's bytes.
func Parse(f File, opts Options) Result {
	p := newParser(f, opts.Of(f.Path).withDefaults())
	p.parse()
	return p.finish()
}

func newParser(f File, opts Options) *parser {
	of := &contents{File: f, opts: opts}
	of.Data = nil
	of.held.Store(&[]body{})
	return &parser{file: f, opts: opts, of: of}
}

// parse reads the documents of the file.
func (p *parser) parse() {
	for doc := range p.documents() {
		p.document(doc)
	}
}

// documents yields the documents of the file, unless the whole file cannot be read.
func (p *parser) documents() iter.Seq[stream.Document] {
	return func(yield func(stream.Document) bool) {
		data := p.file.Data
		switch {
		case len(data) > MaxFileBytes:
			p.broken(diag.FileTooLarge, 0, 0,
				fmt.Sprintf("the file has %d bytes, more than %d", len(data), MaxFileBytes), "", "")
			return
		case bytes.HasPrefix(data, []byte("\x00GITCRYPT\x00")):
			p.result.Broken, p.result.BrokenKinds = 1, []string{""}
			p.result.Encrypted = []EncryptedFile{{p.file.Source, p.file.Path}}
			return
		case IsLFSPointer(data):
			p.broken(diag.LFSPointer, 1, 1, "is a pointer of Git LFS, whose content is not in the repository",
				"store manifests as plain files: `git lfs untrack` their pattern, then `git add --renormalize .` and "+
					"commit", "")
			return
		}
		count := 0
		for doc := range stream.Documents(data) {
			if count++; count > MaxDocuments {
				p.broken(diag.TooManyDocuments, doc.Line, doc.Column,
					fmt.Sprintf("the file has more than %d documents", MaxDocuments), "", "")
				return
			}
			if !yield(doc) {
				return
			}
		}
	}
}

// Syntax returns the first error because of which a document of a file cannot be read, whatever its kind. Without one,
// found is false.
func Syntax(f File) (d diag.Diagnostic, found bool) {
	p := newParser(f, Options{Compatibility: Operator})
	p.leads = true
	for doc := range stream.Documents(f.Data) {
		before := len(p.result.Diags)
		if p.document(doc); p.result.Broken == 0 {
			continue
		}
		found := p.result.Diags[before:]
		for _, d := range found {
			if d.Path == "metadata.name" || d.Path == "metadata.generateName" { // what else is wrong can be built
				return d, true
			}
		}
		return found[len(found)-1], true
	}
	return d, false
}

// ParseBuilt reads documents that were built from files. Their objects belong to the file that says how they are built,
// and findings name the place where a person wrote what is wrong. [MaxFileBytes] does not bound them.
func ParseBuilt(f File, docs []Built, opts Options) Result {
	opts = opts.Of(f.Path).withDefaults()
	p := newParser(f, opts)
	p.of.isBuilt = true
	line := 1
	for _, doc := range docs {
		p.origin, p.secret, p.variables, p.by, p.leads = doc.Origin, doc.Secret, doc.WithVariables, doc.Authors,
			doc.Leads
		p.unknown, p.postBuild = doc.Unknown, doc.PostBuild
		if p.opts = opts; doc.DefaultNamespace != "" {
			p.opts = opts.In(doc.DefaultNamespace)
		}
		if doc.Applied {
			p.opts.PassThrough = ""
		}
		before := len(p.result.Objects)
		for d := range stream.Documents(doc.Text) { // one, with the text that it has in a file of its own
			d.Line += line - 1
			p.document(d)
		}
		line += bytes.Count(doc.Text, []byte("\n")) + 1 // keeps their order
		for _, o := range p.result.Objects[before:] {
			o.EarlierNames = doc.EarlierNames
		}
		if doc.Lookup != "" {
			p.lookup(doc.Lookup, p.result.Objects[before:])
		}
		if doc.Refused != "" {
			p.refuse(doc.Refused, before)
		}
	}
	return p.finish()
}

func (p *parser) finish() Result {
	p.result.of = p.of
	if p.opts.UnknownFields == IgnoreUnknownFields {
		return p.result.IgnoreUnknownFields(nil)
	}
	return p.result
}

// At returns the result of a file with the same content at another path, which is read again with again. The two share
// what they can, and what is released stays so.
func (r Result) At(path string, again func() ([]byte, error)) Result {
	of := r.of.at(path, again)
	move := func(objects []*Object) []*Object {
		out := make([]*Object, len(objects))
		for i, o := range objects {
			moved := *o
			moved.of = of
			out[i] = &moved
		}
		return out
	}
	r.of = of
	r.Objects, r.LeftOut, r.Rights, r.Diags = move(r.Objects), move(r.LeftOut), move(r.Rights), slices.Clone(r.Diags)
	for i := range r.Diags {
		r.Diags[i].File = path
	}
	r.Encrypted = slices.Clone(r.Encrypted)
	for i := range r.Encrypted {
		r.Encrypted[i].Path = path
	}
	r.Named = slices.Clone(r.Named)
	for i := range r.Named {
		if s := r.Named[i].Encrypted; s != nil {
			moved := *s
			moved.Object = move([]*Object{s.Object})[0]
			r.Named[i].Encrypted = &moved
		}
	}
	return r
}

// ParsingBytes is how much memory [Parse] can need for a file of that size, besides the result.
func ParsingBytes(size int64) int64 {
	const bytesPerValue = 400
	return 3*size + bytesPerValue*min(size, yamlvalue.MaxValues)
}

// parser collects the result of one file.
type parser struct {
	file   File
	of     *contents // of the objects
	opts   Options
	text   string   // of the file, if something in it is encrypted
	origin Origin   // of the document at hand, if it was built
	by     []Author // of that document
	leads  bool     // that document leads to others
	// isField says that the text is the value of a field, whose lines are not those of the file.
	isField bool
	secret  secretValues
	// variables is that document before Flux's variables in it were replaced, or empty.
	variables string
	// items are those of that document as it is written, if it is a list and they could be cut out.
	items []yamlvalue.Item
	// postBuild is where variables of Flux in that document get their values; see [Built.PostBuild].
	postBuild string
	// unknown are the variables of Flux in that document whose values are not known; see [Built.Unknown].
	unknown map[string]string
	result  Result
	// parsed is the text in which the places of findings were sought last: they come in groups.
	parsed *parsedText
	// brokenText is the document that was reported last as one that cannot be read.
	brokenText string
}

// broken reports a document that cannot be read. text is its content, as far as it is known.
func (p *parser) broken(code diag.Code, line, column int, message, hint, text string) {
	p.result.Broken++
	if text == "" || text != p.brokenText { // a list is as many as it has items that cannot be read
		p.result.BrokenKinds = append(p.result.BrokenKinds, kindsNamed(text)...)
		p.brokenText = text
	}
	p.report(diag.Diagnostic{Severity: diag.Error, Code: code, Message: message, Hint: hint, Line: line,
		Column: column}, text)
}

// report adds a diagnostic about a document with that text.
func (p *parser) report(d diag.Diagnostic, text string) {
	d.Source, d.File = p.file.Source, p.file.Path
	if p.origin != nil {
		d.BuiltBy = d.File
		d.File, d.Line, d.Column = p.origin.Find(text, "")
		d = p.secret.conceal(d)
	}
	p.result.Diags = append(p.result.Diags, d)
}

// kindLine finds the kind of an object in a text that need not be YAML. An object in a list is indented.
var kindLine = lazyregexp.New(`(?m)^[ \t-]*["']?kind["']?[ \t]*:[ \t]*["']?([A-Za-z]+)`)

// kindsNamed returns the kinds that a text names, or an empty one.
func kindsNamed(text string) []string {
	var kinds []string
	for _, match := range kindLine.FindAllStringSubmatch(text, -1) {
		if !slices.Contains(kinds, match[1]) {
			kinds = append(kinds, match[1])
		}
	}
	if len(kinds) == 0 {
		return []string{""}
	}
	return kinds
}

var (
	// objectKey finds a key of an object in a text that need not be YAML.
	objectKey = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(
			`(?m)^["']?(kind|metadata|spec|data|stringData|items)["']?[ \t]*:|\bapiVersion["']?[ \t]*:`)
	})
	// otherText finds what else a text can be: a mapping, or a template.
	otherText = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?m)^[ \t-]*["']?[\w./-]+["']?[ \t]*:(\s|$)|{{.*}}|{%.*%}`)
	})
)

// mayDefine reports whether a document that cannot be read may define an object that is read, followed or passed
// through: people keep templates, values and settings of other programs beside manifests. A text that shows nothing, or
// may be UTF-16, can have been anything.
func (p *parser) mayDefine(text string) bool {
	if p.leads || strings.Contains(text, v1alpha1.Group) || strings.Contains(text, promGroup) ||
		strings.ContainsRune(text, 0) {
		return true
	}
	kinds := kindsNamed(text)
	if kinds[0] == "" {
		return objectKey().MatchString(text) || !otherText().MatchString(text)
	}
	return slices.ContainsFunc(kinds, func(kind string) bool {
		kind = strings.TrimSuffix(kind, "List")
		return slices.Contains(Kinds(), kind) || p.opts.PassThrough.HasKind(kind) || kind == ""
	})
}

// document reads one document of the file.
func (p *parser) document(d stream.Document) {
	value, notes, doc := p.decode(d)
	if doc == nil {
		return
	}
	switch value := value.(type) {
	case nil: // null counts as an empty document
	case map[string]any:
		if p.isRead(value) {
			p.note(doc, notes)
		}
		p.object(value, place{document: doc})
	case []any:
		if p.ignore("", ""); isPatchOfObject(value) {
			p.jsonPatch(doc)
		}
	default:
		p.ignore("", "")
	}
}

// decode decodes a document. The place is nil if it cannot be read, which was reported.
func (p *parser) decode(d stream.Document) (value any, notes []yamlvalue.Note, doc *document) {
	// One copy, which the object and its strings share, so that the file's bytes can be freed.
	text := string(d.Text)
	doc = &document{p.file.Source, p.file.Path, &content{text: text, line: d.Line, column: d.Column}, p.origin,
		p.secret, p.variables}
	p.items = nil
	if !utf8.ValidString(text) {
		if !p.mayDefine(text) {
			p.ignore("", "")
			return nil, nil, nil
		}
		line, column := doc.inFile(offsetPosition(text, firstInvalid(text)))
		p.broken(diag.NotUTF8, line, column, "the document holds bytes that are not UTF-8",
			"save the file as UTF-8; hide it with .sourceignore if it is not a manifest", text)
		return nil, nil, nil
	}
	value, notes, items, err := yamlvalue.DecodeList(text)
	if bad, ok := errors.AsType[*yamlvalue.Error](err); ok {
		if p.isField {
			bad = bad.WithoutNames()
		}
		if !p.mayDefine(text) {
			p.ignore("", "")
			return nil, nil, nil
		}
		line, column := doc.inFile(max(bad.Line, 1), bad.Column)
		p.broken(codeOf(bad.Reason), line, column, bad.Message, bad.HintFrom(doc.line), text)
		return nil, nil, nil
	}
	if p.origin == nil { // which finds the places in a text that was built
		p.items = items
	}
	return value, notes, doc
}

// note warns about keys that YAML reads as booleans.
func (p *parser) note(doc *document, notes []yamlvalue.Note) {
	for _, n := range notes {
		line, column := doc.inFile(n.Line, n.Column)
		p.report(diag.Diagnostic{
			Severity: diag.Warning, Code: diag.BooleanKey,
			Message: fmt.Sprintf("the key %s is a boolean, and is read as %q", n.Key, n.Value),
			Hint:    fmt.Sprintf("quote it: %q", n.Key), Line: line, Column: column,
		}, doc.text)
	}
}

func codeOf(reason yamlvalue.Reason) diag.Code {
	switch reason {
	case yamlvalue.DuplicateKey:
		return diag.DuplicateKey
	case yamlvalue.Limit:
		return diag.TooComplex
	}
	return diag.InvalidYAML
}

// ignore counts an object of a kind that agentry does not read.
func (p *parser) ignore(apiVersion, kind string) {
	if p.result.Ignored == nil {
		p.result.Ignored = map[string]int{}
	}
	name := "not an object"
	if apiVersion != "" || kind != "" {
		name = apiVersion + " " + kind
	}
	p.result.Ignored[name]++
}

// firstInvalid returns the offset of the first byte that is not UTF-8.
func firstInvalid(text string) int {
	for i, r := range text {
		if r == utf8.RuneError && !strings.HasPrefix(text[i:], string(utf8.RuneError)) {
			return i
		}
	}
	return len(text)
}

// maxLFSPointerBytes is the largest pointer that the specification of Git LFS allows.
const maxLFSPointerBytes = 1024

// IsLFSPointer reports whether a file is a pointer to a file in Git LFS: its first line is the version, and the
// other lines are keys and values.
func IsLFSPointer(text []byte) bool {
	return len(text) < maxLFSPointerBytes &&
		bytes.HasPrefix(text, []byte("version https://git-lfs.github.com/spec/v")) &&
		bytes.Contains(text, []byte("\noid sha256:"))
}
