package manifest

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/agentry-dev/agentry/generator/api/v1alpha1"
	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/manifest/internal/schema"
)

// object reads one object, or the items of a list.
func (p *parser) object(raw map[string]any, at place) {
	apiVersion, _ := raw["apiVersion"].(string)
	kind, _ := raw["kind"].(string)
	switch {
	case apiVersion == "" || kind == "":
		p.nameless(raw, at)
	case p.isList(apiVersion, kind):
		p.list(raw, at)
	case isPatchOfSyncSet(raw):
		p.ignore("", "")
	case p.isNamedBySecret(apiVersion, kind, raw, at):
	default:
		value := p.emptyValue(apiVersion, kind, raw)
		switch value.(type) {
		case nil:
			p.foreign(raw, at)
			return
		case *Foreign:
			p.nameForeign(apiVersion, kind, raw, at)
		}
		p.add(rawObject{opts: p.opts, apiVersion: apiVersion, kind: kind, raw: raw, at: at}, value)
	}
}

// isRead reports whether a document is an object of a kind that is read or passed through, or a list.
func (p *parser) isRead(raw map[string]any) bool {
	apiVersion, _ := raw["apiVersion"].(string)
	kind, _ := raw["kind"].(string)
	return newValue(apiVersion, kind) != nil || p.opts.PassThrough.Has(apiVersion, kind) || p.isList(apiVersion, kind)
}

// rawObject is an object of a kind that agentry knows, as it was written.
type rawObject struct {
	opts             Options
	apiVersion, kind string
	raw              map[string]any
	at               place
	schema           *schema.Kind // of a custom resource
}

// add reads an object into an empty value of its kind.
func (p *parser) add(w rawObject, value typed) {
	digest, size := w.digest(), bytesOf(w.raw) // of the input, so before defaults are set
	delete(w.raw, "status")                    // only a cluster sets it
	isNameless := w.raw["metadata"] == nil
	meta, found := readMetadata(w)
	object := p.of.add(&Object{ID: ID{Kind: w.kind, Namespace: meta.Namespace, Name: meta.Name},
		APIVersion: w.apiVersion, Labels: LabelsOf(meta.Labels), Annotations: meta.Annotations}, w.at)
	use := true
	patched := directive(w.at, w.raw)
	foreign, isForeign := value.(*Foreign)
	if object.IsForeign = isForeign; p.opts.PassThrough.Has(w.apiVersion, w.kind) {
		object.IsPassed, object.body().passed = true, found.passed(w, &meta)
	}
	switch {
	case patched != "":
		found = findings{diag.UnappliedPatch.At(patched,
			"the document is a strategic merge patch, and no kustomization names it: it changes nothing").
			WithHint(patchHint)}
	case isForeign:
		found = readForeign(w, foreign, found)
	case w.apiVersion == coreVersion:
		found, use = readCore(w, value, found)
	default:
		value, found = readCustom(w, value, found)
	}
	*value.GetObjectMeta().(*metav1.ObjectMeta) = meta
	if patched == "" {
		found.variablesOfFlux(w, &meta, p.unknown, p.postBuild)
		found.quotedForFlux(w)
	}
	if isNameless {
		found = found.withoutUnknownFields()
	}
	tenant, refused := p.tenant(object.ID)
	if object.Tenant = tenant; refused != nil {
		found = append(found, *refused)
		use = use && p.mayHold(object.ID)
	}
	if p.result.Diags = append(p.result.Diags, found.placed(object)...); len(found) > 0 {
		of, _ := w.at.own()
		p.parsed = of.outer.text()
	}
	if use && found.onlyUnknownFields() {
		if tenant != "" {
			digest = sha256.Sum256(append(digest[:], tenant...))
		}
		object.Digest, object.HasValue, object.Bytes = digest, true, size+len(object.Passed())
		object.body().value, object.Targets = value, targetsOf(value)
		if p.opts.Mentions != nil {
			object.Mentions = append([]ID{}, p.opts.Mentions(object)...)
		}
	}
	if refused == nil && (!use || isForeign && w.kind == "Secret") {
		p.nameEncrypted(object, w.raw)
	}
	switch failed := found.failed(); {
	case use && !failed:
		p.result.Objects = append(p.result.Objects, object)
	case patched != "" && (object.Name == "" || object.Namespace == ""): // it could be no object
	case object.Name == "" && refused == nil:
		p.result.Broken++
		p.result.BrokenKinds = append(p.result.BrokenKinds, object.Kind)
	case use:
		p.result.Invalid = append(p.result.Invalid, object.ID)
		p.result.LeftOut = append(p.result.LeftOut, object)
	}
}

// nameless reports an object without kind or apiVersion, if agentry would read it otherwise.
func (p *parser) nameless(raw map[string]any, at place) {
	missing := "apiVersion"
	switch {
	case raw["kind"] != nil && slices.Contains(Kinds(), fmt.Sprint(raw["kind"])):
	case strings.HasPrefix(fmt.Sprint(raw["apiVersion"]), "monitoring."),
		raw["apiVersion"] == coreVersion && raw["metadata"] != nil && (raw["data"] != nil || raw["stringData"] != nil):
		missing = "kind"
	default:
		p.ignore("", "")
		return
	}
	line, column := at.position("")
	p.broken(diag.NotAnObject, line, column, "the document looks like an object, but has no "+missing, "", at.text)
}

// foreign counts an object of a kind that agentry does not read. It reports the object if that looks like a mistake.
func (p *parser) foreign(raw map[string]any, at place) {
	apiVersion, kind := raw["apiVersion"].(string), raw["kind"].(string)
	if p.ofUnknownKind(apiVersion, kind, raw, at) {
		return
	}
	p.ignore(apiVersion, kind)
	p.nameForeign(apiVersion, kind, raw, at)
	unknown := unknownKind(apiVersion, kind)
	if unknown.message == "" {
		return
	}
	object := p.of.add(&Object{ID: ID{Kind: kind}, APIVersion: apiVersion}, at)
	object.Namespace, _ = lookup(raw, "metadata.namespace").(string)
	object.Name, _ = lookup(raw, "metadata.name").(string)
	d := object.Place(diag.UnknownKind.At("", "%s", unknown.message).As(diag.Warning))
	d.Line, d.Column = object.Position("kind")
	d.Hint = unknown.hint
	if unknown.meant != "" {
		d.Severity = diag.Error
		p.result.Broken++
		p.result.BrokenKinds = append(p.result.BrokenKinds, unknown.meant)
	}
	p.result.Diags = append(p.result.Diags, d)
}

// isNamedBySecret reports an object whose kind, namespace or name holds a value of a Secret: these are shown. Variables
// of Flux put none there.
func (p *parser) isNamedBySecret(apiVersion, kind string, raw map[string]any, at place) bool {
	if len(p.secret) == 0 {
		return false
	}
	const hidden = "***"
	const shortest = 12 // shorter ones are often names that are no secrets, such as a user's
	name, _ := lookup(raw, "metadata.name").(string)
	namespace, _ := lookup(raw, "metadata.namespace").(string)
	by, field := "", ""
	for _, part := range []struct {
		field string
		text  *string
	}{{"kind", &kind}, {"metadata.namespace", &namespace}, {"metadata.name", &name}} {
		for _, value := range slices.Sorted(maps.Keys(p.secret)) {
			what := p.secret[value]
			if len(value) >= shortest && !strings.HasPrefix(what, "${") && strings.Contains(*part.text, value) {
				by, field = what, part.field
				*part.text = strings.ReplaceAll(*part.text, value, hidden)
			}
		}
	}
	isShown := p.isRead(raw) || namesOthers(apiVersion, kind) || unknownKind(apiVersion, kind).message != ""
	if by == "" || field != "kind" && !isShown {
		return false
	}
	object := p.of.add(&Object{ID: ID{Kind: kind, Namespace: namespace, Name: name}, APIVersion: apiVersion}, at)
	d := object.Place(diag.InvalidMetadata.At(field, hiddenSecret, by).
		WithHint("kinds, namespaces and names are shown: take them from elsewhere"))
	p.result.Broken++
	p.result.BrokenKinds = append(p.result.BrokenKinds, strings.ReplaceAll(kind, hidden, ""))
	p.result.Diags = append(p.result.Diags, d)
	return true
}

// ofUnknownKind reports an object whose kind depends on a variable of Flux without a known value: it can be any.
func (p *parser) ofUnknownKind(apiVersion, kind string, raw map[string]any, at place) bool {
	var found findings
	search := substitutionSearch{findings: &found, unknown: p.unknown}
	if !search.unknownIn("kind", kind) && !search.unknownIn("apiVersion", apiVersion) {
		return false
	}
	object := p.of.add(&Object{ID: ID{Kind: kind}, APIVersion: apiVersion}, at)
	object.Namespace, _ = lookup(raw, "metadata.namespace").(string)
	object.Name, _ = lookup(raw, "metadata.name").(string)
	p.result.Broken++
	p.result.BrokenKinds = append(p.result.BrokenKinds, "")
	p.result.Diags = append(p.result.Diags, found.placed(object)...)
	return true
}

// digest returns the digest of everything that the value depends on: the written object and the options.
func (w rawObject) digest() [sha256.Size]byte {
	h := sha256.New()
	fmt.Fprintf(h, "%q %q\n", w.opts.DefaultNamespace, w.opts.Compatibility)
	if w.at.prefix == "" {
		io.WriteString(h, w.at.text)
	} else {
		// One of several objects in its document. Values decoded from YAML can always be encoded.
		item, _ := json.Marshal(w.raw)
		h.Write(item)
	}
	return [sha256.Size]byte(h.Sum(nil))
}

// bytesOf estimates the memory that a value takes when it is decoded into an object, without its strings. Maps become
// structs, which have their full size even if the map is empty: an endpoint has 272 bytes, a container 408.
func bytesOf(value any) int {
	const ofObject, ofMap, ofScalar = 256, 300, 16
	size := ofObject
	var add func(any)
	add = func(value any) {
		switch value := value.(type) {
		case map[string]any:
			size += ofMap
			for _, v := range value {
				add(v)
			}
		case []any:
			for _, v := range value {
				add(v)
			}
		default:
			size += ofScalar
		}
	}
	add(value)
	return size
}

// isList reports whether a kind is List, or the list of a kind that is passed through or is in one of the groups that
// agentry reads.
func (p *parser) isList(apiVersion, kind string) bool {
	element, found := strings.CutSuffix(kind, "List")
	if !found {
		return false
	}
	group, _, _ := strings.Cut(apiVersion, "/")
	return element == "" && apiVersion == coreVersion || newValue(apiVersion, element) != nil ||
		p.opts.PassThrough.Has(apiVersion, element) ||
		element != "" && (group == v1alpha1.Group || group == promGroup)
}

// list reads the items of a list.
func (p *parser) list(raw map[string]any, list place) {
	items, ok := raw["items"].([]any)
	if !ok && raw["items"] != nil {
		line, column := list.position("items")
		p.broken(diag.NotAnObject, line, column, "items is not a list", "", list.text)
		return
	}
	for i, item := range items {
		at := list.below(i)
		if list.prefix == "" && i < len(p.items) {
			at = list.cut(i, p.items[i])
		}
		if i == MaxListItems {
			line, column := at.position("")
			p.broken(diag.TooManyDocuments, line, column, fmt.Sprintf("the list has more than %d items", MaxListItems),
				"", at.text)
			return
		}
		object, ok := item.(map[string]any)
		if !ok {
			line, column := at.position("")
			p.broken(diag.NotAnObject, line, column, "the item is not an object", "", at.text)
			continue
		}
		inherit(object, raw)
		p.object(object, at)
	}
}

// inherit sets the kind of an item of a typed list, where the API server omits it.
func inherit(item, list map[string]any) {
	element := strings.TrimSuffix(list["kind"].(string), "List")
	if element == "" || item["kind"] != nil || item["apiVersion"] != nil {
		return
	}
	item["apiVersion"], item["kind"] = list["apiVersion"], element
}

// authors returns the authors of the current document.
func (p *parser) authors() []Author {
	if p.origin != nil && len(p.by) > 0 {
		return p.by
	}
	return []Author{{File: p.file.Path}}
}

// tenant returns the tenant who had a say in an object, or why that is not allowed.
func (p *parser) tenant(id ID) (tenant string, refused *diag.Diagnostic) {
	if !p.opts.Tenants.IsSet() {
		return "", nil
	}
	tenant, message, hint := p.opts.Tenants.Breach(id, p.authors())
	if message == "" {
		return tenant, nil
	}
	field := "metadata.namespace"
	if isOfCluster(id.Kind) {
		field = "metadata.name"
	}
	d := diag.Tenancy.At(field, "%s", message).WithHint(hint)
	return "", &d
}

// mayHold reports whether a refused object is held: its last good version is the tenant's own. Of another namespace it
// would be somebody else's, and a tenant could keep what others delete.
func (p *parser) mayHold(id ID) bool {
	tenant, isTenant := p.opts.Tenants.Of(p.file.Path)
	return isTenant && tenant == id.Namespace && tenant != ""
}

// refusesName reports whether an object of a kind of which only the name or the rights are read is not the tenant's to
// define.
func (p *parser) refusesName(id ID, apiVersion string, at place) bool {
	_, refused := p.tenant(id)
	if refused == nil {
		return false
	}
	if !p.opts.PassThrough.Has(apiVersion, id.Kind) { // of which [parser.add] says so
		p.result.Diags = append(p.result.Diags,
			p.of.add(&Object{ID: id, APIVersion: apiVersion}, at).Place(*refused))
	}
	return true
}

// refuse makes the objects from a number on errors.
func (p *parser) refuse(reason string, from int) {
	for _, o := range p.result.Objects[from:] {
		p.result.Diags = append(p.result.Diags, o.Place(diag.BuildRefused.At("", "%s", reason).As(diag.Error)))
		p.result.Invalid = append(p.result.Invalid, o.ID)
	}
	p.result.Objects = p.result.Objects[:from]
}

// lookup warns of objects whose template asked the cluster.
func (p *parser) lookup(template string, objects []*Object) {
	for _, o := range objects {
		d := o.Place(diag.ChartLookup.At("",
			"%s asks the cluster for objects (lookup), and finds none while agentry renders: in the cluster, the "+
				"object may be another one", template))
		d.Hint = "set the values of the chart that make it ask for nothing"
		p.result.Diags = append(p.result.Diags, d)
	}
}
