package manifest

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/agentry-dev/agentry/generator/diag"
)

// object reads one object, or the items of a list.
func (p *parser) object(raw map[string]any, at place) {
	apiVersion, _ := raw["apiVersion"].(string)
	kind, _ := raw["kind"].(string)
	switch {
	case apiVersion == "" || kind == "":
		p.nameless(raw, at)
	case isList(apiVersion, kind):
		p.list(raw, at)
	default:
		value := newValue(apiVersion, kind)
		if value == nil {
			p.foreign(raw, at)
			return
		}
		r := &reader{
			opts: p.opts, raw: raw, value: value,
			object: &Object{ID: ID{Kind: kind}, APIVersion: apiVersion, at: at},
		}
		p.add(r)
	}
}

// add reads an object of a kind that agentry knows and takes over what came of it.
func (p *parser) add(r *reader) {
	digest := r.digest() // before defaults are set, so that it is the input's
	ok := r.read()
	p.result.Diags = append(p.result.Diags, r.diags()...)
	switch {
	case ok:
		r.object.Digest = digest
		r.object.Value = r.value
		p.result.Objects = append(p.result.Objects, r.object)
	case r.object.Name == "":
		p.result.Broken++
	case r.leftOut: // on purpose, without a fault of the object
	default:
		p.result.Invalid = append(p.result.Invalid, r.object.ID)
		p.result.LeftOut = append(p.result.LeftOut, r.object)
	}
}

// nameless reports an object that does not say what it is, if it looks like one.
func (p *parser) nameless(raw map[string]any, at place) {
	missing := "apiVersion"
	switch {
	case raw["kind"] != nil && slices.Contains(Kinds(), fmt.Sprint(raw["kind"])):
	case strings.HasPrefix(fmt.Sprint(raw["apiVersion"]), "monitoring."):
		missing = "kind"
	case raw["metadata"] != nil && (raw["spec"] != nil || raw["data"] != nil || raw["stringData"] != nil):
		missing = "apiVersion or kind"
	default:
		p.ignore("", "")
		return
	}
	line, column := at.position("")
	p.broken(diag.NotAnObject, line, column, "the document looks like an object, but has no "+missing, "")
}

// foreign counts an object of a kind that agentry does not read, and reports it if that
// looks like a mistake.
func (p *parser) foreign(raw map[string]any, at place) {
	apiVersion, kind := raw["apiVersion"].(string), raw["kind"].(string)
	p.ignore(apiVersion, kind)
	message, hint := unknownKind(apiVersion, kind)
	if message == "" {
		return
	}
	object := &Object{ID: ID{Kind: kind}, APIVersion: apiVersion, at: at}
	object.Namespace, _ = lookup(raw, "metadata.namespace").(string)
	object.Name, _ = lookup(raw, "metadata.name").(string)
	d := object.Diag(diag.Warning, diag.UnknownKind, "", "%s", message)
	d.Line, d.Column = object.Position("kind")
	d.Hint = hint
	p.result.Diags = append(p.result.Diags, d)
}

// reader reads one object of a kind that agentry knows.
type reader struct {
	opts     Options
	raw      map[string]any
	object   *Object
	value    typed
	findings []finding
	leftOut  bool
}

// finding is something to report about the object, before its position is looked up.
type finding struct {
	severity diag.Severity
	code     diag.Code
	path     string
	message  string
	hint     string
	// Where it is within the text that the field holds; zero if it is about the field.
	line, column int
}

func (r *reader) fail(code diag.Code, path, message, hint string) {
	r.findings = append(r.findings, finding{severity: diag.Error, code: code, path: path, message: message, hint: hint})
}

// failInside reports something within the text that a field holds.
func (r *reader) failInside(path string, line, column int, message, hint string) {
	r.fail(diag.InvalidField, path, message, hint)
	last := &r.findings[len(r.findings)-1]
	last.line, last.column = line, column
}

func (r *reader) warn(code diag.Code, path, message, hint string) {
	r.findings = append(r.findings, finding{severity: diag.Warning, code: code, path: path, message: message, hint: hint})
}

// read fills in the object and reports whether it can be used.
func (r *reader) read() bool {
	delete(r.raw, "status") // what a cluster says of the object
	meta := r.metadata()
	r.object.Name, r.object.Namespace = meta.Name, meta.Namespace
	switch r.object.APIVersion {
	case coreVersion:
		r.core()
	default:
		r.custom()
	}
	r.object.Meta = r.value.GetObjectMeta().(*metav1.ObjectMeta)
	*r.object.Meta = meta
	return !r.leftOut && !r.failed()
}

// failed reports whether an error was found.
func (r *reader) failed() bool {
	return slices.ContainsFunc(r.findings, func(f finding) bool { return f.severity == diag.Error })
}

// digest is that of everything that the value is made of: what is written, and the options.
func (r *reader) digest() [sha256.Size]byte {
	h := sha256.New()
	fmt.Fprintf(h, "%q %q\n", r.opts.DefaultNamespace, r.opts.Compatibility)
	if r.object.at.prefix == "" {
		io.WriteString(h, r.object.at.text)
	} else {
		// One of many in its document. What was decoded from YAML can be written as JSON.
		item, _ := json.Marshal(r.raw)
		h.Write(item)
	}
	return [sha256.Size]byte(h.Sum(nil))
}

// diags turns the findings into diagnostics, with positions.
func (r *reader) diags() diag.List {
	slices.SortStableFunc(r.findings, func(a, b finding) int {
		// Errors first, so that it is warnings which the limit cuts off.
		return cmp.Or(cmp.Compare(a.severity, b.severity), cmp.Compare(a.path, b.path), cmp.Compare(a.message, b.message))
	})
	var list diag.List
	for i, f := range r.findings {
		if i == MaxFindings {
			list = append(list, r.object.Diag(f.severity, f.code, "", "further findings are not shown"))
			break
		}
		d := r.object.Diag(f.severity, f.code, f.path, "%s", f.message)
		d.Hint = f.hint
		if f.line > 0 {
			d.Line, d.Column = r.object.ValuePosition(f.path, f.line, f.column)
		}
		list = append(list, d)
	}
	return list
}
