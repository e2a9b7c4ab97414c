package sops

import (
	"context"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/manifest"
)

// Opener decrypts the objects of sets, and keeps what is decrypted for the next set. It is not safe for concurrent use.
type Opener struct {
	Workers *Workers
	Keys    []Key

	kept  map[digest]*opened
	lacks bool
}

// Lacks reports whether something could not be decrypted the last time. It may be another time.
func (o *Opener) Lacks() bool { return o.lacks }

// opened is a file that was decrypted, with the objects that were read from it.
type opened struct {
	text    []byte
	objects map[*manifest.Object]object // by the encrypted object
}

type object struct {
	object *manifest.Object
	found  diag.List
}

// Open returns the set with the values of the encrypted objects in wanted, as far as they can be decrypted, and what is wrong
// with them. Those that cannot be decrypted have a problem in the set, which whoever needs their values reports. What is kept
// of sets before and is not wanted now is forgotten. An error is ctx's, or says that no process can be started.
func (o *Opener) Open(ctx context.Context, set *manifest.Set, wanted []manifest.ID) (*manifest.Set, diag.List, error) {
	kept, reasons, err := o.files(ctx, set, wanted)
	if err != nil {
		return nil, nil, err
	}
	before := o.kept
	o.kept, o.lacks = kept, len(reasons) > 0
	keys := digestOf(o.Keys)
	objects, problems := map[manifest.ID]*manifest.Object{}, map[manifest.ID]string{}
	var found diag.List
	for _, id := range wanted {
		sealed := set.Named()[id].Sealed
		at := fileOf(sealed).digest(keys)
		if reason, failed := reasons[at]; failed {
			problems[id] = reason
			continue
		}
		var is object
		known := false
		if b := before[at]; b != nil {
			is, known = b.objects[sealed.Object]
		}
		if !known {
			is.object, is.found = sealed.Open(kept[at].text)
		}
		kept[at].objects[sealed.Object] = is
		found = append(found, is.found...)
		if objects[id] = is.object; is.object == nil {
			delete(objects, id)
			problems[id] = "what it holds is no " + id.Kind + " of that name, or has an error"
		}
	}
	return set.Open(objects, problems), found, nil
}

// files decrypts the files of the objects in wanted that are not known.
func (o *Opener) files(ctx context.Context, set *manifest.Set, wanted []manifest.ID) (kept map[digest]*opened, reasons map[digest]string, err error) {
	kept, reasons = map[digest]*opened{}, map[digest]string{}
	keys := digestOf(o.Keys)
	var files []File
	var ats []digest
	asked := map[digest]bool{}
	for _, id := range wanted {
		f := fileOf(set.Named()[id].Sealed)
		at := f.digest(keys)
		switch is := o.kept[at]; {
		case is != nil:
			kept[at] = &opened{is.text, map[*manifest.Object]object{}}
		case !asked[at]:
			asked[at] = true
			files, ats = append(files, f), append(ats, at)
		}
	}
	if len(files) == 0 {
		return kept, reasons, nil
	}
	answers, err := o.Workers.Open(ctx, o.Keys, files)
	if err != nil {
		return nil, nil, err
	}
	for i, a := range answers {
		if a.Reason != "" {
			reasons[ats[i]] = a.Reason
			continue
		}
		kept[ats[i]] = &opened{a.Data, map[*manifest.Object]object{}}
	}
	return kept, reasons, nil
}

func fileOf(s *manifest.Sealed) File {
	return File{Format: YAML, Data: []byte(s.Text), IsBuilt: s.IsBuilt}
}
