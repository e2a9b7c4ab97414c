package cli

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/internal/cli/dryrun"
)

// fewDuplicates is how many objects folders may have in common by mistake.
const fewDuplicates = 2

// clusters are folders beside each other that define the same objects.
type clusters struct {
	source  string // the label of the source with the folder
	above   string // the folder that they are in
	folders map[string]bool
	objects []diag.Object
}

// severalClusters replaces the findings about objects that many folders define by one for these folders: they are most
// likely for one cluster each, and were read together.
func severalClusters(run *dryrun.Run, found diag.List) diag.List {
	byFolder := map[[2]string]*clusters{} // by source and folder
	for _, group := range run.Report.Set.Duplicates() {
		above, folders := apart(group)
		if len(folders) < 2 {
			continue
		}
		at := [2]string{group[0].Source(), above}
		c := byFolder[at]
		if c == nil {
			c = &clusters{source: at[0], above: above, folders: map[string]bool{}}
			byFolder[at] = c
		}
		maps.Copy(c.folders, folders)
		c.objects = append(c.objects, group[0].Ref())
	}
	for _, at := range slices.SortedFunc(maps.Keys(byFolder), func(a, b [2]string) int {
		return slices.Compare(a[:], b[:])
	}) {
		if c := byFolder[at]; len(c.objects) > fewDuplicates {
			c.above, c.source = run.Show(c.source, c.above)
			found = c.replaceIn(found)
		}
	}
	return found
}

// apart returns the folder that all files of some definitions are in, and the folders in it that they are in.
func apart(group []*manifest.Object) (above string, folders map[string]bool) {
	first := strings.Split(group[0].File(), "/")
	same := len(first) - 1
	for _, o := range group[1:] {
		if o.Source() != group[0].Source() {
			return "", nil
		}
		parts := strings.Split(o.File(), "/")
		for i := range min(same, len(parts)) {
			if parts[i] != first[i] {
				same = i
				break
			}
		}
	}
	folders = map[string]bool{}
	for _, o := range group {
		parts := strings.Split(o.File(), "/")
		if same >= len(parts)-1 {
			return "", nil // a file in the folder above
		}
		folders[parts[same]] = true
	}
	return path.Join(first[:same]...), folders
}

func (c *clusters) replaceIn(found diag.List) diag.List {
	d := diag.Diagnostic{Severity: diag.Warning, Code: diag.DuplicateObject, Source: c.source,
		File: cmp.Or(c.above, "."), Related: c.objects}
	found = slices.DeleteFunc(slices.Clone(found), func(old diag.Diagnostic) bool {
		isOne := old.Code == diag.DuplicateObject && slices.Contains(c.objects, old.Object)
		if isOne && old.Severity == diag.Error {
			d.Severity = diag.Error
		}
		return isOne
	})
	names := slices.Sorted(maps.Keys(c.folders))
	shown := strings.Join(names[:min(len(names), 4)], ", ")
	if len(names) > 4 {
		shown += " and others"
	}
	d.Message = fmt.Sprintf(
		"%d objects are each defined in more than one of the folders %s, and none of these is used; the first is "+
			"%s/%s/%s",
		len(c.objects), shown, c.objects[0].Kind, c.objects[0].Namespace, c.objects[0].Name)
	d.Hint = fmt.Sprintf(
		"if the folders are for different clusters, read each alone: agentry check %s; a pipeline names one in "+
			"paths, or forEach: %s makes a pipeline for each",
		path.Join(c.above, names[0]), path.Join(c.above, "*"))
	found = append(found, d)
	found.Sort()
	return found
}
