package repobrowser

import (
	"errors"
	"maps"
	"net/http"
	"path"
	"slices"
	"strings"

	"github.com/agentry-dev/agentry/generator/difference"
	"github.com/agentry-dev/agentry/gitsync/branch"
	"github.com/agentry-dev/agentry/gitsync/repo/limit"
	"github.com/agentry-dev/agentry/internal/explainers"
)

const (
	// maxUnits limits the listed units.
	maxUnits = 1000
	// maxShownBytes limits the size of a file that is shown, and the total size of the other files of its unit.
	maxShownBytes = 4 << 20
)

// Output is a part of the output branch at its tip: the units, the files of a unit, or the lines of a file.
type Output struct {
	Commit string
	Units  []string
	More   int // units that are not listed
	Unit   string
	Files  []File
	File   *File
	Lines  []string // without secrets
}

// File is a file that agentry wrote.
type File struct {
	Name, Object string
	Bytes        int64
}

// Output returns the part of the output branch at a path: "" for the units, a unit, or a file of a unit.
func (s *Store) Output(pipeline, at string) (*Output, *explainers.Refusal) {
	v, refused := s.open(pipeline)
	if refused != nil {
		return nil, refused
	}
	defer v.close()
	o, refused := v.output()
	if refused != nil {
		return nil, refused
	}
	b, err := branch.Read(o.Reader, o.tip, o.path)
	if err == nil {
		err = b.Open(o.Reader, &branch.Cache{})
	}
	if err != nil {
		return nil, unreadable(err)
	}
	out := &Output{Commit: o.tip.String()}
	if at == "" {
		out.Units = slices.Sorted(maps.Keys(b.Units))
		out.More = max(0, len(out.Units)-maxUnits)
		out.Units = out.Units[:len(out.Units)-out.More]
		return out, nil
	}
	unit, name := b.Units[at], ""
	if unit == nil {
		unit, name = b.Units[path.Dir(at)], path.Base(at)
	}
	if unit == nil {
		return nil, noFile()
	}
	if err := unit.Load(); err != nil {
		return nil, unreadable(err)
	}
	out.Unit = unit.Name
	for _, f := range unit.Inventory.Files {
		e, ok := unit.Entries[f.Path]
		if !ok || !e.Mode.IsFile() || f.Object == "" {
			continue // missing, or the kustomization, which only lists the others
		}
		n, err := o.BlobSize(e.Hash)
		if err != nil {
			return nil, unreadable(err)
		}
		out.Files = append(out.Files, File{f.Path, f.Object, n})
	}
	if name == "" {
		return out, nil
	}
	return out, out.read(unit, name)
}

func noFile() *explainers.Refusal {
	return &explainers.Refusal{Status: http.StatusNotFound, Message: "agentry wrote no such file",
		Hint: "the last commit may have removed it"}
}

// read reads the lines of a file of a unit.
func (out *Output) read(unit *branch.Unit, name string) *explainers.Refusal {
	i := slices.IndexFunc(out.Files, func(f File) bool { return f.Name == name })
	if i < 0 {
		return noFile()
	}
	out.File = &out.Files[i]
	text, beside, err := out.texts(unit, name)
	if errors.Is(err, limit.ErrTooLarge) {
		return &explainers.Refusal{Status: http.StatusUnprocessableEntity,
			Message: "the file is too large to show here",
			Hint:    "read it at the forge, or in a clone of the repository"}
	}
	if err != nil {
		return unreadable(err)
	}
	if out.Lines, err = difference.Redacted(name, text, beside); err != nil {
		return &explainers.Refusal{Status: http.StatusUnprocessableEntity,
			Message: "somebody changed the file; it is not shown because it may contain anything",
			Hint:    "read it at the forge, or in a clone of the repository"}
	}
	return nil
}

// texts returns a file, and the Secrets beside it, whose values are hidden everywhere.
func (out *Output) texts(unit *branch.Unit, name string) (text []byte, secrets []difference.Manifest, err error) {
	left := int64(maxShownBytes)
	for _, f := range out.Files {
		isIt, isSecret := f.Name == name, strings.HasPrefix(f.Object, "Secret/")
		if isIt && f.Bytes > maxShownBytes {
			return nil, nil, limit.ErrTooLarge
		}
		if !isIt && !isSecret {
			continue
		}
		if left -= f.Bytes; !isIt && left < 0 {
			return nil, nil, limit.ErrTooLarge
		}
		data, err := unit.Read(f.Name)
		if err != nil {
			return nil, nil, err
		}
		if m, ok := difference.Read(unit.Name, data); ok && isSecret {
			secrets = append(secrets, m)
		}
		if isIt {
			text = data
		}
	}
	return text, secrets, nil
}
