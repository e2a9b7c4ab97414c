package plan

import (
	"context"
	"slices"

	"github.com/agentry-dev/agentry/generator"
	"github.com/agentry-dev/agentry/gitsync/seal"
	"github.com/agentry-dev/agentry/inputs/sops"
)

// Sealing is how the Secrets of a plan are encrypted.
type Sealing struct {
	Sealer *seal.Sealer
	// To returns the recipients of a file, by its path from the root of the branch.
	To func(name string) (sops.Recipients, error)
	// Redact encrypts nothing: Secrets that would be encrypted have placeholders for their values.
	Redact bool
	// Known returns another sealed version of a file that may be kept, by its path from the root of the branch; nil if
	// there is none.
	Known func(name string) ([]byte, error)
}

// Seal encrypts the Secrets of the units that are written. A file on the branch stays if it holds the same Secret. The
// rendered units do not change: the files of the plan are copies.
func (p *Plan) Seal(ctx context.Context, with Sealing) error {
	var secrets []seal.Secret
	var files []*generator.File
	var units []*Unit
	for i := range p.Units {
		u := &p.Units[i]
		if u.rendered == nil || u.action != write {
			continue
		}
		u.sealed, u.renewed = withoutReviews(u.rendered.Files), map[string]bool{}
		for j := range u.sealed {
			f := &u.sealed[j]
			if f.Masked != "" {
				f.Masked = with.Sealer.Sum("masked", f.Object, f.Masked)
			}
			if f.Object.Kind != "Secret" || !seal.IsClear(f.Text()) {
				continue
			}
			to, err := with.To(p.Branch.At(u.Name, f.Path))
			if err != nil {
				return err
			}
			secrets = append(secrets, seal.Secret{ID: f.Object, To: to, Clear: f.Text(),
				Known: p.known(u, f.Path, with.Known)})
			files, units = append(files, f), append(units, u)
		}
	}
	p.otherKeys = 0
	sealed, err := with.Sealer.Seal(ctx, secrets, with.Redact)
	if err != nil {
		return err
	}
	for i, s := range sealed {
		files[i].Data, files[i].Stored = s.Data, nil
		units[i].renewed[files[i].Path] = s.State == seal.Renewed
		if s.OtherKey {
			p.otherKeys++
		}
	}
	return nil
}

// Redacted returns the files of a unit with placeholders for the values of Secrets.
func Redacted(files []generator.File) []generator.File {
	out := withoutReviews(files)
	for i := range out {
		if f := &out[i]; f.Object.Kind == "Secret" && seal.IsClear(f.Data) {
			f.Data = seal.Redact(f.Data)
		}
	}
	return out
}

// withoutReviews returns the files of a unit without the texts beside Secrets, which show the content of the Secrets.
func withoutReviews(files []generator.File) []generator.File {
	isReview := func(f generator.File) bool { return !f.Manifest && f.Object.Kind == "Secret" }
	return slices.DeleteFunc(slices.Clone(files), isReview)
}

// known returns a function that returns the versions of a file that may be the sealed Secret: as it is on the branch,
// as agentry last wrote it, and another.
func (p *Plan) known(u *Unit, name string, other func(string) ([]byte, error)) func() ([][]byte, error) {
	return func() (out [][]byte, err error) {
		for _, read := range []func() ([]byte, error){
			func() ([]byte, error) { return orNil(u.folder.Read(name)) },
			func() ([]byte, error) { return orNil(u.folder.LastWritten(name)) },
			func() ([]byte, error) {
				if other == nil {
					return nil, nil
				}
				return other(p.Branch.At(u.Name, name))
			},
		} {
			text, err := read()
			if err != nil {
				return nil, err
			}
			out = append(out, text)
		}
		return out, nil
	}
}

// Written returns the files that the plan writes to a unit's folder, nil for a unit that it does not write.
func (p *Plan) Written(unit string) []generator.File {
	for i := range p.Units {
		if u := &p.Units[i]; u.Name == unit && u.action == write {
			return u.files()
		}
	}
	return nil
}
