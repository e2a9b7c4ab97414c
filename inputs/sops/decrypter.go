package sops

import (
	"context"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/manifest"
)

// Decrypter decrypts objects of sets, and caches the results for the next set. It is not safe for concurrent use.
type Decrypter struct {
	Workers *Workers
	Keys    []Key

	kept       map[digest]*decryptedFile
	incomplete bool
}

// IsIncomplete reports whether the last Decrypt failed for some object. Another attempt may succeed.
func (o *Decrypter) IsIncomplete() bool { return o.incomplete }

// decryptedFile is a decrypted file, with the objects in it.
type decryptedFile struct {
	text    []byte
	objects map[*manifest.Object]decryptedObject // by the encrypted object
}

type decryptedObject struct {
	object *manifest.Object
	diags  diag.List
}

// Decrypt returns the set with the encrypted objects in wanted decrypted, and the problems of their values. The set
// records why an object cannot be decrypted; whatever needs its values reports that. Decrypt forgets objects of
// earlier sets that are not in wanted. It returns an error only if ctx ends or no process can be started.
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
		var d decryptedObject
		known := false
		if b := before[at]; b != nil {
			d, known = b.objects[encrypted.Object]
		}
		if !known {
			d.object, d.diags = encrypted.Decrypted(kept[at].text)
		}
		kept[at].objects[encrypted.Object] = d
		found = append(found, d.diags...)
		if objects[id] = d.object; d.object == nil {
			delete(objects, id)
			problems[id] = "its content is not a " + id.Kind + " of that name, or has an error"
		}
	}
	return set.Open(objects, problems), found, nil
}

// files returns the decrypted files of the objects in wanted, from the cache if possible.
func (o *Decrypter) files(ctx context.Context, set *manifest.Set, wanted []manifest.ID) (kept map[digest]*decryptedFile,
	reasons map[digest]string, err error) {
	kept, reasons = map[digest]*decryptedFile{}, map[digest]string{}
	keys := digestOf(o.Keys)
	var files []File
	var digests []digest
	asked := map[digest]bool{}
	for _, id := range wanted {
		f := fileOf(set.Named()[id].Encrypted)
		at := f.digest(keys)
		switch is := o.kept[at]; {
		case is != nil:
			kept[at] = &decryptedFile{is.text, map[*manifest.Object]decryptedObject{}}
		case !asked[at]:
			asked[at] = true
			files, digests = append(files, f), append(digests, at)
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
			reasons[digests[i]] = a.Reason
			continue
		}
		kept[digests[i]] = &decryptedFile{a.Data, map[*manifest.Object]decryptedObject{}}
	}
	return kept, reasons, nil
}

func fileOf(s *manifest.Encrypted) File {
	return File{Format: YAML, Data: []byte(s.Text), IsBuilt: s.IsBuilt}
}
