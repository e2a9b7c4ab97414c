package hold

import (
	"cmp"
	"path"
	"regexp"
	"slices"

	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/gitsync/branch"
)

// textFolder has the texts of held objects, below the output path. The name of a file is a hash of its content.
// So neither a later base nor a rewritten history of the source can lose a text.
const textFolder = ".agentry/held"

// textFile matches the names of these files. A record with another file is ignored: whoever can write to the
// branch could have written it.
var textFile = regexp.MustCompile(`^\.agentry/held/[0-9a-f]{16}$`)

// TextFile returns the file for a text, below the output path.
func TextFile(text string) string { return path.Join(textFolder, branch.SHA256([]byte(text))[:16]) }

// Record is a held object in the inventory of the output branch, and its last good version once that was read.
type Record struct {
	branch.Record
	id     manifest.ID
	object *manifest.Object
	read   bool
}

// IsFor reports whether the record is for a unit, and not for all units.
func (r *Record) IsFor(unit string) bool { return slices.Contains(r.Units, unit) }

// readRecords returns the records of an inventory. Those for all units come first.
func readRecords(inv *branch.Inventory) []*Record {
	if inv == nil {
		return nil
	}
	var out []*Record
	for _, r := range inv.Held {
		id, ok := manifest.ParseID(r.Object)
		if ok && (r.File == "" || textFile.MatchString(r.File)) {
			out = append(out, &Record{Record: r, id: id})
		}
	}
	slices.SortStableFunc(out, func(a, b *Record) int {
		return cmp.Or(a.id.Compare(b.id), slices.Compare(a.Units, b.Units))
	})
	return out
}

// Cache keeps the objects that were parsed from texts for the next pass. The zero value is empty.
type Cache struct {
	objects map[textID]*manifest.Object
}

// textID is an object in a file of the output branch.
type textID struct {
	file string
	id   manifest.ID
}

func (r *Record) textID() textID { return textID{r.File, r.id} }

// keep drops the objects that no record needs.
func (c *Cache) keep(records []*Record) {
	kept := map[textID]*manifest.Object{}
	for _, r := range records {
		if o := c.objects[r.textID()]; o != nil {
			kept[r.textID()] = o
		}
	}
	c.objects = kept
}
