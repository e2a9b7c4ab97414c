package pipelinefile

import (
	"context"
	"crypto/sha256"
	"io/fs"
	"maps"
	"os"
	"reflect"
	"slices"
	"sync"
	"time"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/gitsync/fleet"
)

const (
	// DefaultPoll is how often a [Loader] looks whether files have changed.
	DefaultPoll = 3 * time.Second
	// rereadAfter is how many looks later all files are read anyway: a file system may not
	// say that they changed.
	rereadAfter = 20
)

// LoaderOptions decide where the configuration of a fleet comes from.
type LoaderOptions struct {
	// Path is a pipeline file, or a folder of them.
	Path string
	// Getenv reads credentials that are in environment variables. Default [os.LookupEnv].
	Getenv Getenv
	// Poll is how often Watch looks for changes. Default [DefaultPoll].
	Poll time.Duration
}

// Loader reads the configuration of a running fleet again and again. What is wrong in it
// harms nothing that runs: a file with an error keeps the pipelines of its last good
// version, and so does one that gets into another one's way; a folder that becomes empty or
// cannot be read keeps all of them. Only a file that is deleted among others takes its
// pipelines with it. It is safe for concurrent use.
type Loader struct {
	options LoaderOptions
	apps    *apps

	mu       sync.Mutex
	files    map[string]*file
	seen     map[string]fs.FileInfo // what the last look found
	last     result
	loaded   bool // at least once
	guarding bool // the last load found the configuration gone
}

// file is one pipeline file.
type file struct {
	name string
	read bool
	sum  [sha256.Size]byte
	// next are the pipelines of what it holds now; nil if that has errors.
	next  []*Pipeline
	wrong diag.List // what is wrong with it by itself
	// good are the pipelines that run: next, or a part of it, or those of an older version.
	good             []*Pipeline
	current, partial bool
}

// result is what a load says.
type result struct {
	definitions []fleet.Definition
	problems    diag.List
}

// NewLoader makes a loader. It reads nothing yet.
func NewLoader(options LoaderOptions) *Loader {
	if options.Getenv == nil {
		options.Getenv = os.LookupEnv
	}
	if options.Poll <= 0 {
		options.Poll = DefaultPoll
	}
	return &Loader{options: options, apps: newApps(), files: map[string]*file{}}
}

// Load reads all files and says which pipelines are to run, what is wrong, and whether either
// is different from the call before. At the first call there is no last good version: with an
// error and no pipelines there is nothing that could run.
func (l *Loader) Load() (defs []fleet.Definition, problems diag.List, changed bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	before, first, guarded := l.last, !l.loaded, l.guarding
	names, _, err := Files(l.options.Path)
	l.seen, l.loaded, l.guarding = look(names), true, err != nil
	if err != nil {
		l.last.problems = l.guard(err)
	} else if l.readAll(names) || guarded {
		l.last = l.settle()
	}
	return l.last.definitions, l.last.problems, first || !l.last.equal(before)
}

func (r result) equal(other result) bool {
	return reflect.DeepEqual(r.problems, other.problems) &&
		slices.EqualFunc(r.definitions, other.definitions, func(a, b fleet.Definition) bool { return a.Source == b.Source })
}

// guard says that the configuration as a whole is gone, or cannot be read, and that this
// stops nothing.
func (l *Loader) guard(err error) diag.List {
	wrong := invalid(l.options.Path, nil, err.Error())
	if len(l.last.definitions) == 0 {
		return diag.List{wrong}
	}
	kept := diag.Diagnostic{
		Severity: diag.Warning, Code: diag.PipelineKept, File: l.options.Path,
		Message: "all pipelines go on as they were", Hint: "to stop a pipeline, delete its file and leave others, or set suspend",
	}
	return diag.List{wrong, kept}
}

// readAll brings the files up to date and reports whether any has changed.
func (l *Loader) readAll(names []string) bool {
	changed := false
	for name := range l.files {
		if !slices.Contains(names, name) {
			delete(l.files, name)
			changed = true
		}
	}
	for _, name := range names {
		f := l.files[name]
		if f == nil {
			f = &file{name: name}
			l.files[name] = f
		}
		changed = f.update(l.apps) || changed
	}
	return changed
}

// update reads a file, and parses it if it is not what it was.
func (f *file) update(apps *apps) bool {
	data, err := readFile(f.name, MaxFileBytes)
	if err != nil {
		data = []byte("\x00" + plain(err)) // what no good file holds
	}
	sum := sha256.Sum256(data)
	if f.read && sum == f.sum {
		return false
	}
	f.read, f.sum, f.current, f.partial = true, sum, false, false
	if err != nil {
		f.next, f.wrong = nil, diag.List{invalid(f.name, nil, plain(err))}
		return true
	}
	f.next, f.wrong = parseFile(f.name, data, apps)
	f.inherit()
	return true
}

// inherit lets templates that are read again know which folders they had.
func (f *file) inherit() {
	for _, p := range f.next {
		for _, old := range f.good {
			if p.each != nil && old.each != nil && p.Metadata.Name == old.Metadata.Name {
				old.each.mu.Lock()
				p.each.taken = maps.Clone(old.each.taken)
				old.each.mu.Unlock()
			}
		}
	}
}

// settle decides what runs.
func (l *Loader) settle() result {
	var files []*file
	for _, name := range slices.Sorted(maps.Keys(l.files)) {
		files = append(files, l.files[name])
	}
	decided := decide(files)
	var out result
	for _, f := range files {
		out.problems = append(append(out.problems, f.wrong...), decided.problems[f]...)
		if !f.current {
			out.problems = append(out.problems, f.keeps())
		}
		for _, p := range f.good {
			out.definitions = append(out.definitions, p.Definition(l.options.Getenv))
		}
	}
	out.problems.Sort()
	return out
}

// Watch calls changed whenever the files have changed, until ctx ends. It looks at the files'
// sizes and times only, which costs little and works on mounts where the kernel tells of no
// change; now and then it reads them all the same.
func (l *Loader) Watch(ctx context.Context, changed func(defs []fleet.Definition, problems diag.List)) {
	ticker := time.NewTicker(l.options.Poll)
	defer ticker.Stop()
	for looks := 1; ; looks++ {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		if looks%rereadAfter != 0 && !l.moved() {
			continue
		}
		if defs, problems, moved := l.Load(); moved && ctx.Err() == nil {
			changed(defs, problems)
		}
	}
}

// moved reports whether the files look different from when they were last read.
func (l *Loader) moved() bool {
	names, _, _ := Files(l.options.Path)
	now := look(names)
	l.mu.Lock()
	defer l.mu.Unlock()
	return !maps.EqualFunc(now, l.seen, func(a, b fs.FileInfo) bool {
		if a == nil || b == nil {
			return a == nil && b == nil
		}
		return os.SameFile(a, b) && a.Size() == b.Size() && a.ModTime().Equal(b.ModTime())
	})
}

// look is what files look like from outside; nil for one that cannot be looked at.
func look(names []string) map[string]fs.FileInfo {
	out := map[string]fs.FileInfo{}
	for _, name := range names {
		info, err := os.Stat(name)
		if err != nil {
			info = nil
		}
		out[name] = info
	}
	return out
}
