// Package kustomizer runs kustomize's library in processes of its own, because the library cannot be interrupted and
// small files can make it need any amount of time and memory. The processes are this program itself, and the kernel
// limits them: see package worker.
//
// A [Job] names a folder in a file system that the caller has: its files come along, or the worker asks for them. A
// worker reads nothing else, and writes nothing.
package kustomizer

import (
	"fmt"
	"time"

	"github.com/agentry-dev/agentry/internal/worker"
)

const (
	// MaxObjects limits the objects of one kustomization.
	MaxObjects = 50_000
	// MaxBytes limits the total size of one kustomization's objects.
	MaxBytes = 64 << 20
)

// Job is a kustomization to build. All names are slash-separated paths from the top of the file system, which is ".".
type Job struct {
	Folder string
	// Files are files that kustomize may read, by their names without symbolic links. It asks for others.
	Files map[string][]byte
	// Renames says that names change, and that references to them in custom resources follow. The kustomization has
	// the transformer [KeepNames] then.
	Renames bool
	// SetsSchemas says that a kustomization sets OpenAPI schemas, which kustomize keeps for the whole process.
	SetsSchemas bool
	// ManagedBy is the value of the label app.kubernetes.io/managed-by of all objects. Empty: none.
	ManagedBy string
	// Traced are the annotations with a trace that objects keep, as in buildMetadata.
	Traced []string
	// Remotes are remote entries of kustomizations, by the folder or file that takes their place.
	Remotes map[string]string
}

// Result is what kustomize made of a job.
type Result struct {
	Objects []Object
	// Refusal is why kustomize failed, in its own words, which can quote values of Secrets, or [Crash]. Empty: it did
	// not.
	Refusal string
	// Problem is why the objects cannot be used, without values.
	Problem, Hint string
	// IsUnwritable says that the problem is an object that cannot be written as YAML.
	IsUnwritable bool
}

// Object is a built object.
type Object struct {
	Kind, APIVersion string
	Text             []byte // YAML
	// File is the file with the object, and Generator the configuration of the generator that made it, relative to the
	// job's folder. Both are empty if kustomize did not trace the object.
	File, Generator string
	IsTraced        bool
	// Changes are the files with transformers that the object went through, relative to the job's folder.
	Changes []string
	// EarlierNames are the names that it had before it was renamed.
	EarlierNames []string
	// Renamed maps the names that were written into its references to those that its author wrote.
	Renamed map[string]string
}

// Kustomization is a kustomization of a job in which a fault is looked for.
type Kustomization struct {
	Folder, File string
}

// Blame is what makes a job fail.
type Blame struct {
	// Folder is that of the innermost kustomization that fails.
	Folder string
	// Refusal is kustomize's error about that, if it is not the kustomization of the job.
	Refusal string
	// Field is the first entry with which it fails, such as patches[1]. It is empty if no single one is to blame.
	Field string
	// Operation is the operation of a JSON patch that does not fit an object, if the entry is such a patch.
	Operation *Operation
}

// Operation is an operation of a JSON patch that cannot be applied.
type Operation struct {
	File    string // of the patch; empty if it is in the kustomization
	Index   int
	Text    string // without its value
	Object  string
	Problem string
	Hint    string
}

// Entry is what is at a path of the caller's file system.
type Entry struct {
	// Name is the path without symbolic links. It is empty if there is nothing.
	Name  string
	IsDir bool
	Text  []byte // of a file
	// Refused says that it is there, but cannot be read.
	Refused bool
}

// Failure is the error of a job that exceeds a limit.
type Failure struct{ *worker.Broken }

// IsTooLarge reports whether the objects are too large, whatever time and memory there is.
func (f *Failure) IsTooLarge() bool { return f.Reason == worker.Output }

// Error says which limit, as the end of a sentence about the kustomization.
func (f *Failure) Error() string {
	switch f.Reason {
	case worker.Killed:
		return "needs more memory to build than there is"
	case worker.Late:
		return "takes kustomize longer than " + f.Limits.Time.String()
	case worker.Busy:
		return "takes kustomize more than " + f.Limits.CPU.String() + " of processor time"
	case worker.Inherited:
		return "takes kustomize more than the " + f.Limits.CPU.String() + " of processor time that ulimit -t allows"
	case worker.Output:
		return fmt.Sprintf("has more than %d MiB of objects", MaxBytes>>20)
	}
	return fmt.Sprintf("needs more than %d MiB of memory to build", f.Limits.MemoryBytes>>20)
}

// limits are the default limits of a job. The time is for machines that have other things to do.
func limits() worker.Limits {
	return worker.Limits{CPU: 30 * time.Second, Time: 3 * time.Minute, OutputBytes: MaxBytes + MaxBytes/4}
}
