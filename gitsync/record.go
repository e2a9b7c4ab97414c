package gitsync

import (
	"cmp"
	"errors"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/gitsync/branch"
	"github.com/agentry-dev/agentry/gitsync/repo/object"
	"github.com/agentry-dev/agentry/gitsync/source"
)

// heldFolder holds the texts of objects that are held, under names that are hashes of them, so
// that neither a later base nor what becomes of the source's history can lose them.
const heldFolder = ".agentry/held"

// record is what the inventory says of an object that is held, and what was read of it.
type record struct {
	branch.Record
	id     manifest.ID
	object *manifest.Object
	read   bool
}

// records are the objects that the output branch holds. Those of all units come first, so that
// they are found first.
func records(inv *branch.Inventory) []*record {
	var out []*record
	for _, r := range inv.Held {
		id, ok := parseID(r.Object)
		if ok && (r.File == "" || heldFile.MatchString(r.File)) {
			out = append(out, &record{Record: r, id: id})
		}
	}
	slices.SortStableFunc(out, func(a, b *record) int {
		return cmp.Or(a.id.Compare(b.id), slices.Compare(a.Units, b.Units))
	})
	return out
}

// heldFile is what a record may name: whoever can write to the branch could lead us elsewhere.
var heldFile = regexp.MustCompile(`^\.agentry/held/[0-9a-f]{16}$`)

func heldName(text string) string { return path.Join(heldFolder, branch.SHA256([]byte(text))[:16]) }

// recorded reads the version that a record keeps; nil when it cannot be had, or is not valid by
// today's rules.
func (p *lastGood) recorded(r *record) (*manifest.Object, error) {
	if r.read {
		return r.object, nil
	}
	o, err := p.text(r)
	if o == nil && err == nil {
		o, err = p.atCommit(r.Origin, r.id)
	}
	if err != nil {
		return nil, err
	}
	r.read, r.object = true, o
	if o != nil {
		p.origins[o] = r.Origin
	}
	return o, nil
}

// text reads the text of a record from the output branch, or from the branch's history if
// somebody changed or removed it.
func (p *lastGood) text(r *record) (*manifest.Object, error) {
	if r.File == "" {
		return nil, nil
	}
	if o := p.memory.texts[r.parsed()]; o != nil {
		return o, nil
	}
	var text []byte
	_, err := p.branch.Newest(p.branch.At(r.File), func(data []byte) (bool, error) {
		if heldName(string(data)) != r.File {
			return false, nil
		}
		text = data
		return true, nil
	})
	if err != nil || text == nil {
		return nil, err
	}
	result := manifest.Parse(manifest.File{Path: r.Path, Data: text}, p.pipeline.Spec.ParseOptions())
	o := only(result, r.id)
	if o != nil {
		p.memory.texts[r.parsed()] = o
	}
	return o, nil
}

// parsedText is an object that was read from the text of a record.
type parsedText struct {
	file string
	id   manifest.ID
}

func (r *record) parsed() parsedText { return parsedText{r.File, r.id} }

// keeps reports whether a text by itself is the object that was read from it.
func (p *pass) keeps(text string, o *manifest.Object) bool {
	result := manifest.Parse(manifest.File{Path: o.File(), Data: []byte(text)}, p.pipeline.Spec.ParseOptions())
	again := only(result, o.ID)
	return again != nil && again.Digest == o.Digest && len(result.Objects)+len(result.LeftOut) == 1
}

// parseID reads what ID.String wrote.
func parseID(text string) (manifest.ID, bool) {
	kind, rest, _ := strings.Cut(text, "/")
	if kind == source.NamespaceKind {
		return manifest.ID{Kind: kind, Name: rest}, true
	}
	namespace, name, ok := strings.Cut(rest, "/")
	return manifest.ID{Kind: kind, Namespace: namespace, Name: name}, ok
}

// notFoundIsNil takes a path that is not there for an answer.
func notFoundIsNil(err error) error {
	if errors.Is(err, object.ErrPathNotFound) {
		return nil
	}
	return err
}

// writeHeld adds the records of what is held, and removes the texts that nothing needs now.
func (p *pass) writeHeld(c *change, inv *branch.Inventory) error {
	files := map[string]bool{}
	for _, h := range p.held {
		r, text := p.record(h)
		inv.Held = append(inv.Held, r)
		if r.File != "" {
			files[r.File] = true
		}
		if text == "" {
			continue
		}
		if err := p.putMetadata(c, p.branch.At(r.File), []byte(text), p.branch.Inventory != nil); err != nil {
			return err
		}
	}
	for i := range p.plan {
		if p.tellsOfHeld(&p.plan[i]) {
			inv.HeldIn = append(inv.HeldIn, p.plan[i].name)
		}
	}
	for _, r := range p.lastGood.records {
		if r.File != "" && !files[r.File] {
			c.edits[p.branch.At(r.File)] = object.Edit{Remove: true}
		}
	}
	return nil
}

// record describes a holding, with the text that its file shall have. What cannot be read any
// more is recorded as it was.
func (p *pass) record(h *holding) (r branch.Record, text string) {
	r = branch.Record{Object: h.id.String(), Since: h.since, Reason: reasonText(h.reason), Hidden: h.hidden}
	if !h.forAll {
		r.Units = h.units
	}
	r.Origin = p.originOf(h)
	switch {
	case h.standIn == nil && h.old != nil:
		r.File = h.old.File
	case h.standIn != nil:
		if own := h.standIn.Text(); h.id.Kind != "Secret" && p.keeps(own, h.standIn) {
			r.File, text = heldName(own), own
		}
	}
	return r, text
}
