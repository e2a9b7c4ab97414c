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
	// DefaultPoll is how often a [Loader] checks whether files have changed.
	DefaultPoll = 3 * time.Second
	// rereadAfter is the number of checks after which all files are read anyway, because some file systems do
	// not report changes.
	rereadAfter = 20
	// maxPoll is how often it checks at least. With thousands of files, or on a slow file system, checks come further
	// apart: restAfter is how many times as long as a check takes until the next one.
	maxPoll   = 20 * time.Second
	restAfter = 2000
)

// LoaderOptions say where the configuration of a fleet is.
type LoaderOptions struct {
	// Path is a pipeline file, or a folder of them.
	Path string
	// Getenv reads credentials that are in environment variables. Default [os.LookupEnv].
	Getenv Getenv
	// Poll is how often Watch checks for changes. Default [DefaultPoll].
	Poll time.Duration
}

// Loader reads the configuration of a running fleet again and again. Errors in it do not stop running
// pipelines: a file with an error, or in conflict with another one, keeps the pipelines of its last good
// version. A folder that becomes empty or unreadable keeps all pipelines. Only deleting one of several files
// removes its pipelines. It is safe for concurrent use.
type Loader struct {
	options LoaderOptions
	apps    *apps

	mu       sync.Mutex
	files    map[string]*file
	seen     map[string]fs.FileInfo // what the last check found
	last     result
	loaded   bool // loaded at least once
	guarding bool // the last load found no configuration
}

// file is one pipeline file.
type file struct {
	name string
	read bool
	sum  [sha256.Size]byte
	// next are the pipelines of its current content; nil if that has errors.
	next  []*Pipeline
	wrong diag.List // problems of the file alone
	// good are the pipelines that run: next, or some of it, or the pipelines of an older version.
	good             []*Pipeline
	current, partial bool
}

// result is the result of a load.
type result struct {
	definitions []fleet.Definition
	problems    diag.List
}

// NewLoader returns a loader. It reads nothing yet.
func NewLoader(options LoaderOptions) *Loader {
	if options.Getenv == nil {
		options.Getenv = os.LookupEnv
	}
	if options.Poll <= 0 {
		options.Poll = DefaultPoll
	}
	return &Loader{options: options, apps: newApps(), files: map[string]*file{}}
}

// Load reads all files. It returns the pipelines to run, the problems, and whether either has changed since the
// last call. The first call has no last good versions: an error can leave no pipelines to run.
func (l *Loader) Load() (defs []fleet.Definition, problems diag.List, changed bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	before, first, guarded := l.last, !l.loaded, l.guarding
	names, err := Files(l.options.Path)
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
		slices.EqualFunc(r.definitions, other.definitions, func(a, b fleet.Definition) bool {
			return a.Source == b.Source
		})
}

// guard returns the problem that the whole configuration is missing or unreadable. The pipelines keep running.
func (l *Loader) guard(err error) diag.List {
	wrong := invalid(l.options.Path, err.Error())
	if len(l.last.definitions) == 0 {
		return diag.List{wrong}
	}
	kept := diag.Diagnostic{
		Severity: diag.Warning, Code: diag.PipelineKept, File: l.options.Path,
		Message: "all pipelines go on as they were",
		Hint:    "to stop a pipeline, delete its file and leave others, or set suspend",
	}
	return diag.List{wrong, kept}
}

// readAll reads the files and reports whether any has changed.
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

// update reads a file, and parses it if its content has changed.
func (f *file) update(apps *apps) bool {
	data, err := readFile(f.name, MaxFileBytes)
	if err != nil {
		data = []byte("\x00" + plain(err)) // no valid file has this content
	}
	sum := sha256.Sum256(data)
	if f.read && sum == f.sum {
		return false
	}
	f.read, f.sum, f.current, f.partial = true, sum, false, false
	if err != nil {
		f.next, f.wrong = nil, diag.List{invalid(f.name, plain(err))}
		return true
	}
	f.next, f.wrong = parseFile(f.name, data, apps)
	f.inherit()
	return true
}

// inherit copies the folders of templates from the last version of the file.
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

// settle decides which pipelines run.
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

// Watch calls changed whenever the files have changed, until ctx ends. It compares sizes and times, which is
// cheap and works on mounts that send no change notifications, and from time to time it reads all files.
func (l *Loader) Watch(ctx context.Context, changed func(defs []fleet.Definition, problems diag.List)) {
	wait := l.options.Poll
	for looks := 1; ; looks++ {
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
		start := time.Now()
		hasMoved := l.moved()
		wait = l.rest(time.Since(start))
		if looks%rereadAfter != 0 && !hasMoved {
			continue
		}
		if defs, problems, moved := l.Load(); moved && ctx.Err() == nil {
			changed(defs, problems)
		}
	}
}

// rest returns how long to wait after a check that took so long.
func (l *Loader) rest(took time.Duration) time.Duration {
	return max(l.options.Poll, min(maxPoll, restAfter*took))
}

// moved reports whether the files' sizes or times have changed since they were last read.
func (l *Loader) moved() bool {
	names, _ := Files(l.options.Path)
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

// look returns the file information of the names; nil for a file that cannot be examined.
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
