package gitsync

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/gitsync/internal/index"
	"github.com/agentry-dev/agentry/gitsync/pipeline"
	"github.com/agentry-dev/agentry/gitsync/plan"
)

// stored is the index of a pipeline in the folder of the caches.
type stored struct {
	name    string // of the file; empty if there is none
	key     index.Key
	written time.Time // when this process wrote it last
	// fresh is how many objects were parsed or rendered since, and all is how many there are to parse and render.
	fresh, all int
}

const (
	// maxOutdated is the part of the objects that may be parsed or rendered again because the index does not know them,
	// before it is written again.
	maxOutdated = 16
	// minWriteInterval limits how often a process writes it.
	minWriteInterval = 10 * time.Minute
)

// newStored returns the index of a pipeline. Others with the same output branch have the same file. There is none for
// dry runs, and where Secrets are encrypted: what is rendered depends on the keys then.
func newStored(p *pipeline.Pipeline, opts *Options) (stored, error) {
	program, err := program()
	if opts.DryRun || p.Spec.Secrets.Seals() || opts.Pool.Dir() == "" || err != nil {
		return stored{}, nil //nolint:nilerr // everything is read and rendered
	}
	definition, err := json.Marshal(p)
	if err != nil {
		return stored{}, err
	}
	h := sha256.New()
	fmt.Fprintf(h, "%s\n%s", program, definition)
	s := stored{}
	h.Sum(s.key[:0])
	output := sha256.Sum256(fmt.Appendf(nil, "%s\n%s\n%s", p.Spec.Output.URL, p.Spec.Output.Branch, p.Spec.Output.Path))
	s.name = filepath.Join(opts.Pool.Dir(), "index", fmt.Sprintf("%x", output[:16]))
	return s, nil
}

// program identifies this program: what it starts with has a digest of all of it, which the linker writes.
var program = sync.OnceValues(func() (string, error) {
	const headBytes = 64 << 10
	name, err := os.Executable()
	if err != nil {
		return "", err
	}
	f, err := os.Open(name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return "", err
	}
	h := sha256.New()
	if _, err := io.Copy(h, io.LimitReader(f, headBytes)); err != nil {
		return "", err
	}
	return fmt.Sprintf("%d %x", info.Size(), h.Sum(nil)), nil
})

// readIndex returns a function that reads the index if the pass knows nothing yet. Without a gate, nobody else needs
// the memory for it: it is read while the pass waits for remotes.
func (p *pass) readIndex() func() (*index.Index, error) {
	if p.stored.name == "" || p.memory.output.Rendered != nil {
		return func() (*index.Index, error) { return nil, errNoIndex }
	}
	read := sync.OnceValues(func() (*index.Index, error) { return index.Read(p.stored.name, p.stored.key) })
	if p.options.Gate == nil {
		go func() {
			defer func() { _ = recover() }() // the pass panics with the same value
			_, _ = read()
		}()
	}
	return read
}

var errNoIndex = errors.New("the pass needs no index")

// recall gives the sources what the index knows of them. It returns nil if there is no index.
func (p *pass) recall() *index.Index {
	x, err := p.index()
	if err != nil || len(x.Sources) != len(p.sources.List) {
		return nil // everything is read again
	}
	for i, src := range p.sources.List {
		src.Stored = &x.Sources[i]
	}
	return x
}

// restore returns the units of the index whose objects were read again.
func (p *pass) restore(x *index.Index) plan.Memory {
	var objects []*manifest.Object
	for i := range x.Sources {
		files := x.Sources[i].Files
		for n := range files {
			of, ok := p.sources.List[i].Input.Objects(&files[n])
			if !ok {
				of = make([]*manifest.Object, files[n].Count)
			}
			objects = append(objects, of...)
		}
	}
	return plan.Restored(x.Units, objects)
}

// drop removes the index.
func (s *stored) drop() {
	if s.name != "" {
		_ = os.Remove(s.name) // without the file there is nothing to do, and the next process may be luckier
	}
}

// outdated counts what the index does not know of a pass.
func (s *stored) outdated(in *plan.Inputs) {
	s.fresh += in.Objects.Parsed + in.Rendered.Rendered
	s.all = 2 * len(in.Objects.Set.All())
}

// store writes the index if too much of it is outdated. It is a cache: without it everything is read and rendered.
func (s *Syncer) store() {
	isOutdated := s.stored.fresh > 0 && s.stored.fresh*maxOutdated >= s.stored.all
	if s.stored.name == "" || !isOutdated || s.memory.output.Rendered == nil {
		return
	}
	numbers := map[*manifest.Object]int{}
	x := &index.Index{}
	for _, src := range s.sources.List {
		of := src.Input.Stored()
		for i := range of.Files {
			for _, o := range src.Input.Files[of.Files[i].Path].Result.Objects {
				numbers[o] = len(numbers)
			}
		}
		x.Sources = append(x.Sources, *of)
	}
	x.Units = s.memory.output.Stored(func(o *manifest.Object) int {
		if n, ok := numbers[o]; ok {
			return n
		}
		return -1
	})
	if x.Write(s.stored.name, s.stored.key) == nil {
		s.stored.fresh, s.stored.written = 0, time.Now()
	}
}
