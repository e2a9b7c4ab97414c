package dryrun

import (
	"bytes"
	"path"
	"slices"

	"sigs.k8s.io/yaml"

	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/gitsync/repo/object"
	"github.com/agentry-dev/agentry/internal/checkout"
)

// syncFile is the file in which flux bootstrap writes the Kustomization of the cluster's own path.
const syncFile = "gotk-sync.yaml"

// FluxPaths returns the folders that flux bootstrap was given, as people type them: the paths in the files that it
// wrote.
func (r *Run) FluxPaths() (out []string) {
	for _, l := range r.locals {
		if l.folder == nil {
			continue
		}
		rd := checkout.Reader(l.objects)
		if at, err := rd.Commit(l.commit); err == nil {
			// What cannot be read is only missing in a hint.
			_ = object.Walk(rd, at.Tree, object.WalkOptions{}, func(name string, e object.Entry) error {
				if path.Base(name) == syncFile {
					text, err := rd.Blob(e.Hash, manifest.MaxFileBytes)
					if folder := syncPath(text); err == nil && folder != "" {
						out = append(out, l.name(folder))
					}
				}
				return nil
			})
		}
		rd.Close()
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// syncPath returns the path of the Kustomization in a file that flux bootstrap wrote, or "".
func syncPath(text []byte) string {
	for doc := range bytes.SplitSeq(text, []byte("\n---")) {
		var of struct {
			Kind string
			Spec struct{ Path string }
		}
		if yaml.Unmarshal(doc, &of) == nil && of.Kind == "Kustomization" && of.Spec.Path != "" {
			return path.Join(".", path.Join("/", of.Spec.Path)[1:])
		}
	}
	return ""
}
