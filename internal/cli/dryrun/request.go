package dryrun

import (
	"io"

	"github.com/agentry-dev/agentry/gitsync"
	"github.com/agentry-dev/agentry/internal/pipelinefile"
)

// Stdin is the path that stands for standard input.
const Stdin = "-"

// Request says what is rendered.
type Request struct {
	// File is the pipeline file, - for standard input. Empty: it is looked for, unless Alone is set.
	File string
	// Alone leaves out all pipeline files: the paths are read with the defaults.
	Alone bool
	// Pipeline is the name of the only pipeline that is rendered. Empty: all of the file.
	Pipeline string
	// Paths are folders, files and - for standard input. With a pipeline they narrow what is shown.
	Paths []string
	// Files are files in memory by their names. Nil: none. They are read with the fields of Spec.
	Files map[string][]byte
	// Spec has fields of the pipeline that is made if there is no pipeline file. Default: only its source and output.
	Spec map[string]any
	// Whole shows everything, whatever the paths are.
	Whole bool
	// Only reads the paths in place of those that the pipeline names. Held versions are left out: they are of others.
	Only bool
	// Here reads the current folder if there are neither paths nor a pipeline file.
	Here bool
	// Set changes fields of the pipelines: spec.field=value, as in Helm. Each is one change.
	Set []string
	// Build is how the working tree is built, if it is set.
	Build string
	// Sources are folders in place of sources, by the name or the URL of a source; or of what a custom resource of Flux
	// or Argo CD refers to, as in spec.sourceRefs.
	Sources map[string]string
	// Revision is a revision of the repository at hand that is read in place of its files. Empty: the files.
	// RevisionName is what people know it by. Default: Revision.
	Revision, RevisionName string
	// Beside is the revision that this one, or the files, are compared with, and BesideName what people know it by. Its
	// pipeline file governs if there is no other one.
	Beside, BesideName string
	// Offline sends no request to a Git server: other sources and held versions are left out.
	Offline bool
	// All makes it an error that a pipeline is away, even if there are others: what is rendered is applied.
	All bool
	// MayBeEmpty makes it a warning, without a pipeline file, that there is nothing to render.
	MayBeEmpty bool
	// Flags says that whoever asks can do so again with other flags: hints name these.
	Flags bool
	// Options are those of the passes that a command chooses.
	Options gitsync.Options
	// Prepare changes the pipeline and the options of a run before its pass, unless it is nil.
	Prepare func(r *Run, o *gitsync.Options)
	// Skip reports whether a folder on disk is left out.
	Skip func(folder string) bool
	// Stdin is standard input.
	Stdin io.Reader
	// Getenv reads credentials that are in environment variables.
	Getenv pipelinefile.Getenv
}
