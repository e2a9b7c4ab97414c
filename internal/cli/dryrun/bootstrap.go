package dryrun

import (
	"bytes"
	"path"
	"slices"

	"sigs.k8s.io/yaml"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/gitsync/pipeline"
	"github.com/agentry-dev/agentry/gitsync/repo/object"
	"github.com/agentry-dev/agentry/internal/checkout"
)

// syncFile is the file in which flux bootstrap writes the Kustomization of the cluster's own path.
const syncFile = "gotk-sync.yaml"

// FluxPaths returns the folders to give for Flux, as people type them: the paths in the files that flux bootstrap
// wrote. Without such a file, it is the folders of the Kustomizations that no other Kustomization applies.
func (r *Run) FluxPaths() (out []string) {
	for _, l := range r.locals {
		if l.folder == nil {
			continue
		}
		rd := checkout.Reader(l.objects)
		if at, err := rd.Commit(l.commit); err == nil {
			var found fluxFiles
			// What cannot be read is only missing in a hint.
			_ = object.Walk(rd, at.Tree, object.WalkOptions{}, func(name string, e object.Entry) error {
				if manifest.IsManifestPath(name) {
					if text, err := rd.Blob(e.Hash, manifest.MaxFileBytes); err == nil {
						found.add(name, text)
					}
				}
				return nil
			})
			for _, folder := range found.paths() {
				out = append(out, l.name(folder))
			}
		}
		rd.Close()
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// FailedPaths returns the folders without a kustomization that were given and cannot be built as one.
func (r *Run) FailedPaths() (out []string) {
	var given []string
	for _, l := range r.locals {
		for _, name := range l.paths() {
			given = append(given, l.name(name))
		}
	}
	for _, d := range r.Report.Diags {
		for _, name := range []string{d.File, d.BuiltBy} {
			if d.Code == diag.BuildFailed && slices.Contains(given, name) {
				out = append(out, name)
			}
		}
	}
	return out
}

// fluxFiles are the files with Kustomizations of Flux in a repository.
type fluxFiles struct {
	synced  []string            // the paths in the files of flux bootstrap
	applied map[string][]string // the paths in others, by the folder of the file
}

// add reads a file.
func (f *fluxFiles) add(name string, text []byte) {
	if !bytes.Contains(text, []byte("kustomize.toolkit.fluxcd.io/")) {
		return
	}
	for doc := range bytes.SplitSeq(text, []byte("\n---")) {
		var of struct {
			Kind string
			Spec struct{ Path string }
		}
		if yaml.Unmarshal(doc, &of) != nil || of.Kind != "Kustomization" || of.Spec.Path == "" {
			continue
		}
		in, applied := path.Dir(name), path.Join(".", path.Join("/", of.Spec.Path)[1:])
		if path.Base(name) == syncFile && pipeline.Within(applied, in) { // else it is of a repository in a folder
			f.synced = append(f.synced, applied)
		}
		if f.applied == nil {
			f.applied = map[string][]string{}
		}
		f.applied[in] = append(f.applied[in], applied)
	}
}

// paths returns the folders to give. The whole repository is none: that reads what Kustomizations apply twice.
func (f *fluxFiles) paths() (out []string) {
	if len(f.synced) > 0 {
		return f.synced
	}
	for in := range f.applied {
		isApplied := in == "."
		for from, paths := range f.applied {
			applies := func(folder string) bool { return pipeline.Within(folder, in) }
			isApplied = isApplied || from != in && slices.ContainsFunc(paths, applies)
		}
		if !isApplied {
			out = append(out, in)
		}
	}
	return out
}
