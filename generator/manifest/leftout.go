package manifest

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/agentry-dev/agentry/generator/diag"
)

// Duplicates returns the objects that are defined more than once, and therefore left out. There is one group
// for each identity, in the order of files and lines.
func (s *Set) Duplicates() [][]*Object { return s.duplicates }

// DuplicatesOf returns the definitions of an object that is defined more than once, or nothing.
func (s *Set) DuplicatesOf(id ID) []*Object {
	i, found := slices.BinarySearchFunc(s.duplicates, id, func(group []*Object, id ID) int {
		return group[0].Compare(id)
	})
	if !found {
		return nil
	}
	return s.duplicates[i]
}

// LeftOut returns the objects that are in a file but not in the set, because of an error that has been
// reported: invalid ones, of which only the metadata can be used, and duplicates. They are sorted by identity.
// A reference to one of them is not an error.
func (s *Set) LeftOut() []*Object { return s.leftOut }

// LeftOutAs returns those of [Set.LeftOut] with an identity.
func (s *Set) LeftOutAs(id ID) []*Object {
	first, _ := find(s.leftOut, id)
	end := first
	for end < len(s.leftOut) && s.leftOut[end].ID == id {
		end++
	}
	return s.leftOut[first:end]
}

// IsLeftOut reports whether an object is one of [Set.LeftOut].
func (s *Set) IsLeftOut(id ID) bool {
	_, found := find(s.leftOut, id)
	return found
}

// MayLack reports whether a document that cannot be read may define an object of a kind.
func (s *Set) MayLack(kind string) bool { return s.broken[kind] || s.broken[""] }

// absent returns the objects that the set does not have, by identity.
func (s *Set) absent(objects []*Object) []*Object {
	var out []*Object
	for _, o := range objects {
		if s.Find(o.ID) == nil {
			out = append(out, o)
		}
	}
	slices.SortFunc(out, func(a, b *Object) int { return cmp.Or(a.Compare(b.ID), a.comparePlace(b)) })
	return out
}

// Diags reports each definition of a duplicate at its position, and of each source once the files that are encrypted.
// One definition of a duplicate can be in the set as the stand-in (see [Set.With]). It was there before the others, and
// is not reported.
func (s *Set) Diags() diag.List {
	list := s.encryptedFiles()
	for _, group := range s.duplicates {
		before := s.standIn(group)
		for i, o := range group {
			other := group[0]
			if i == 0 {
				other = group[1]
			}
			if before != nil {
				other = before
			}
			if o == before {
				continue
			}
			d := o.Place(diag.DuplicateObject.At("", "%s", s.duplicated(o, other, len(group), before != nil)))
			folders := foldersApart(o.of.Path, other.of.Path)
			d.Hint = ifPatch(o.of.Path, "remove all but one"+ifClusters(folders))
			if o.of.Source == other.of.Source {
				d.Names = append(folders, other.WrittenFile(), other.of.Path)
			}
			d.Related = []diag.Object{other.Ref()}
			list = append(list, d)
		}
	}
	return list
}

// encryptedFiles reports the files of each source that git-crypt encrypted, at the first one.
func (s *Set) encryptedFiles() (list diag.List) {
	files := map[string][]string{}
	for _, f := range s.encrypted {
		files[f.Source] = append(files[f.Source], f.Path)
	}
	for _, source := range slices.Sorted(maps.Keys(files)) {
		d := diag.Diagnostic{Severity: diag.Info, Code: diag.EncryptedFile, Source: source,
			File: slices.Min(files[source]), Line: 1, Column: 1,
			Message: "is encrypted with git-crypt, and left out: nobody knows what it holds",
			Hint:    "encrypt Secrets with SOPS instead, or hide files that are not manifests with .sourceignore"}
		if n := len(files[source]); n > 1 {
			d.Message = fmt.Sprintf(
				"%d files are encrypted with git-crypt, this one first, and left out: nobody knows what they hold", n)
		}
		list = append(list, d)
	}
	return list
}

// duplicated returns the message about one of n definitions. It does not name the object: printers do.
func (s *Set) duplicated(o, other *Object, n int, isNew bool) string {
	place := other.definedAt(o)
	if isNew {
		return fmt.Sprintf("already defined at %s; that definition stays", place)
	}
	text := fmt.Sprintf("defined here and at %s; neither is used", place)
	if n > 2 {
		text = fmt.Sprintf("defined %d times, here and at %s; none is used", n, place)
	}
	if s.Find(o.ID) != nil {
		text += "; its last good version stays"
	}
	return text
}

// foldersApart returns the folders in which the paths of two files differ, if that is one only, as in
// clusters/a/agent.yaml and clusters/b/agent.yaml.
func foldersApart(file, other string) []string {
	a, b := strings.Split(file, "/"), strings.Split(other, "/")
	if len(a) != len(b) {
		return nil
	}
	differs := -1
	for i := range a {
		if a[i] != b[i] && differs >= 0 {
			return nil
		}
		if a[i] != b[i] {
			differs = i
		}
	}
	if differs < 0 || differs == len(a)-1 {
		return nil
	}
	folders := []string{path.Join(a[:differs+1]...), path.Join(b[:differs+1]...)}
	slices.Sort(folders)
	return folders
}

// ifClusters returns a hint if folders of two files seem to belong to different clusters.
func ifClusters(folders []string) string {
	if len(folders) == 0 {
		return ""
	}
	return fmt.Sprintf("; if %s and %s are for two clusters, read each alone: name one as PATH, or in paths of a "+
		"pipeline", folders[0], folders[1])
}

// standIn returns the definition that is in the set although there are duplicates. Of equal definitions it
// returns the one in the same file, or nil if there are several.
func (s *Set) standIn(group []*Object) *Object {
	used := s.Find(group[0].ID)
	if used == nil {
		return nil
	}
	equal := slices.DeleteFunc(slices.Clone(group), func(o *Object) bool { return o.Digest != used.Digest })
	if len(equal) > 1 {
		equal = slices.DeleteFunc(equal, func(o *Object) bool {
			return o.of.Source != used.of.Source || o.of.Path != used.of.Path
		})
	}
	if len(equal) != 1 {
		return nil
	}
	return equal[0]
}

// definedAt returns where the object begins, for a message about another object.
func (o *Object) definedAt(other *Object) string {
	file, line, column := o.place().locate("")
	return o.placeSeenFrom(other, file, line, column)
}
