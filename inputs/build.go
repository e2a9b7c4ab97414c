package inputs

import (
	"cmp"
	"context"
	"crypto/sha256"
	"slices"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/inputs/chart"
	"github.com/agentry-dev/agentry/inputs/roots"
	"github.com/agentry-dev/agentry/inputs/tree"
)

// Options configure [Build].
type Options struct {
	Manifest manifest.Options
	// Source names the repository in diagnostics if there are several.
	Source string
	// Show maps file names to the names that diagnostics show; nil keeps them.
	Show func(name string) string
	// Builds has the results that the search has built already; may be nil.
	Builds *Builds
	// Work, if not nil, blocks until so many bytes of memory may be used to parse what was built; the caller calls done
	// afterwards.
	Work func(bytes int64) (done func(), err error)
	roots.Options
}

// Built is the result of building a root.
type Built struct {
	Result manifest.Result
	Bytes  int        // total size of the documents
	Reads  tree.Reads // the files it depends on
	Charts chart.Uses // the charts fetched for it
	Taken  int64      // the bytes it used in [Options.Builds]
	root   Root
}

// Digest returns a digest of everything the result depends on: equal digests mean equal results.
func (b *Built) Digest() []byte {
	sum := sha256.Sum256([]byte(b.Reads.Digest() + b.root.Digest() + b.Charts.Digest()))
	return sum[:]
}

// Build builds a root and parses the built documents like a file with the root's name. A root that cannot be built
// counts as an unreadable file, and one that gives nothing as an empty file with a warning. Build returns an error only
// if files cannot be read.
func Build(ctx context.Context, files tree.Files, r Root, opts Options) (Built, error) {
	show := opts.Show
	if show == nil {
		show = func(name string) string { return name }
	}
	b := opts.Builds.take(r, opts.Open)
	out := Built{root: r}
	if b != nil {
		out.Taken = int64(b.bytes())
	} else {
		var err error
		if b, err = buildRoot(ctx, files, r, opts.Options); err != nil {
			return Built{}, err
		}
	}
	out.Reads, out.Charts = b.reads, b.charts
	if b.failed != nil {
		d := *b.failed
		if d.Source = opts.Source; d.File != r.Name && d.File != r.Folder &&
			(r.RequestedBy == nil || d.Object != r.RequestedBy.Object) {
			d.BuiltBy = show(r.Name)
		}
		d.File = show(d.File)
		out.Result = manifest.Result{Diags: diag.List{d}, Broken: 1}
		// A root that tenancy forbids counts as undefined, and one that gives nothing as built: nothing is held.
		if d.Code == diag.Tenancy || d.Code == diag.BuildsNothing {
			out.Result.Broken = 0
		}
		if d.Code != diag.Tenancy {
			out.warn(opts.Source, show)
		}
		return out, nil
	}
	out.Bytes = b.bytes()
	if opts.Work != nil {
		done, err := opts.Work(manifest.ParsingBytes(int64(out.Bytes)))
		if err != nil {
			return Built{}, err
		}
		defer done()
	}
	docs, by := slices.Clone(b.docs), r.Authors() // the search may still read its own list
	for i := range docs {
		docs[i].Origin = renamedOrigin{docs[i].Origin, show}
		docs[i].Authors = slices.Concat(docs[i].Authors, by)
		docs[i].DefaultNamespace = cmp.Or(r.Namespace, docs[i].DefaultNamespace)
	}
	out.Result = manifest.ParseBuilt(manifest.File{Source: opts.Source, Path: show(r.Name)}, docs, opts.Manifest)
	out.warn(opts.Source, show)
	for _, d := range b.warnings {
		if d.Source = opts.Source; d.File != r.Name && d.File != r.Folder {
			d.BuiltBy = show(r.Name)
		}
		d.File = show(d.File)
		out.Result.Diags = append(out.Result.Diags, d)
	}
	return out, nil
}

// warn adds the warnings about the root's custom resource.
func (b *Built) warn(source string, show func(string) string) {
	by := b.root.RequestedBy
	for _, d := range b.root.Conceal(b.root.Warnings...) {
		d.Severity, d.Source, d.Object = diag.Warning, source, by.Object
		d.File, d.Line, d.Column = by.Find(d.Path)
		d.File = show(d.File)
		b.Result.Diags = append(b.Result.Diags, d)
	}
}

// renamedOrigin is an origin with the file names that diagnostics show.
type renamedOrigin struct {
	manifest.Origin
	show func(string) string
}

// Find implements [manifest.Origin].
func (s renamedOrigin) Find(text, path string) (file string, line, column int) {
	file, line, column = s.Origin.Find(text, path)
	return s.show(file), line, column
}
