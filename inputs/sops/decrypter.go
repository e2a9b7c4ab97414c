package sops

import (
	"context"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/manifest"
)

// Decrypter decrypts the objects of sets, and keeps what it decrypted for the next set. It is not safe for concurrent
// use.
type Decrypter struct {
	Workers *Workers
	Keys    []Key

	kept       map[digest]*decrypted
	incomplete bool
}

// IsIncomplete reports whether something could not be decrypted the last time. Another attempt may succeed.
func (o *Decrypter) IsIncomplete() bool { return o.incomplete }

// decrypted is a file that was decrypted, with the objects that were read from it.
type decrypted struct {
	text    []byte
	objects map[*manifest.Object]object // by the encrypted object
}

type object struct {
	object *manifest.Object
	found  diag.List
}

// Decrypt returns the set with the values of the encrypted objects in wanted, and what is wrong with those values. The
// set notes why an object cannot be decrypted; whoever needs its values reports that. Objects of earlier sets that are
// not wanted now are forgotten. An error is ctx's, or says that no process can be started.
func (o *Decrypter) Decrypt(ctx context.Context, set *manifest.Set, wanted []manifest.ID) (*manifest.Set, diag.List,
	error) {
	kept, reasons, err := o.files(ctx, set, wanted)
	if err != nil {
		return nil, nil, err
	}
	before := o.kept
	o.kept, o.incomplete = kept, len(reasons) > 0
	keys := digestOf(o.Keys)
	objects, problems := map[manifest.ID]*manifest.Object{}, map[manifest.ID]string{}
	var found diag.List
	for _, id := range wanted {
		encrypted := set.Named()[id].Encrypted
		at := fileOf(encrypted).digest(keys)
		if reason, failed := reasons[at]; failed {
			problems[id] = reason
			continue
		}
		var is object
		known := false
		if b := before[at]; b != nil {
			is, known = b.objects[encrypted.Object]
		}
		if !known {
			is.object, is.found = encrypted.Decrypted(kept[at].text)
		}
		kept[at].objects[encrypted.Object] = is
		found = append(found, is.found...)
		if objects[id] = is.object; is.object == nil {
			delete(objects, id)
			problems[id] = "its content is not a " + id.Kind + " of that name, or has an error"
		}
	}
	return set.Open(objects, problems), found, nil
}

// files decrypts the files of the objects in wanted that are not known.
func (o *Decrypter) files(ctx context.Context, set *manifest.Set, wanted []manifest.ID) (kept map[digest]*decrypted,
	reasons map[digest]string, err error) {
	kept, reasons = map[digest]*decrypted{}, map[digest]string{}
	keys := digestOf(o.Keys)
	var files []File
	var ats []digest
	asked := map[digest]bool{}
	for _, id := range wanted {
		f := fileOf(set.Named()[id].Encrypted)
		at := f.digest(keys)
		switch is := o.kept[at]; {
		case is != nil:
			kept[at] = &decrypted{is.text, map[*manifest.Object]object{}}
		case !asked[at]:
			asked[at] = true
			files, ats = append(files, f), append(ats, at)
		}
	}
	if len(files) == 0 {
		return kept, reasons, nil
	}
	answers, err := o.Workers.Decrypt(ctx, o.Keys, files)
	if err != nil {
		return nil, nil, err
	}
	for i, a := range answers {
		if a.Reason != "" {
			reasons[ats[i]] = a.Reason
			continue
		}
		kept[ats[i]] = &decrypted{a.Data, map[*manifest.Object]object{}}
	}
	return kept, reasons, nil
}

func fileOf(s *manifest.Encrypted) File {
	return File{Format: YAML, Data: []byte(s.Text), IsBuilt: s.IsBuilt}
}
