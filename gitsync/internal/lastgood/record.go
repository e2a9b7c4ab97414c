package lastgood

import (
	"cmp"
	"path"
	"slices"

	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/gitsync/branch"
	"github.com/agentry-dev/agentry/internal/lazyregexp"
)

// textFolder is the folder of the texts of held objects, below the output path. A file is named by the hash of its
// content. So neither a later base nor a rewritten history of the source can lose a text.
const textFolder = ".agentry/held"

// textFile matches the names of these files. A record with another name is ignored: anyone who can write to the branch
// could have written it.
var textFile = lazyregexp.New(`^\.agentry/held/[0-9a-f]{16}$`)

// TextFile returns the name of the file for a text, below the output path.
func TextFile(text string) string { return path.Join(textFolder, branch.SHA256([]byte(text))[:16]) }

// Record is a held object in the inventory of the output branch, with its last good version once it has been read.
type Record struct {
	branch.Record
	id     manifest.ID
	object *manifest.Object
	read   bool
}

// IsFor reports whether the record names a unit. A record for all units names none.
func (r *Record) IsFor(unit string) bool { return slices.Contains(r.Units, unit) }

// readRecords returns the records of an inventory, sorted by object; a record for all units comes first.
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

// Cache keeps objects parsed from texts for the next pass. The zero value is empty.
type Cache struct {
	objects map[textID]*manifest.Object
}

// textID identifies an object in a file of the output branch.
type textID struct {
	file string
	id   manifest.ID
}

func (r *Record) textID() textID { return textID{r.File, r.id} }

// keep drops all objects that the records do not need.
func (c *Cache) keep(records []*Record) {
	kept := map[textID]*manifest.Object{}
	for _, r := range records {
		if o := c.objects[r.textID()]; o != nil {
			kept[r.textID()] = o
		}
	}
	c.objects = kept
}
