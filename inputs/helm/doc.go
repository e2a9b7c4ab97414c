// Package helm renders Helm charts, by Helm's own library, outside every cluster.
//
// A [Release] is everything that the result depends on: the chart's files, name, namespace, values, and what it is
// told about the cluster. Equal releases have equal documents: functions that return random values or the time are
// replaced. A chart is rendered twice, with different answers of these functions, so that each [Document] says whether
// it depends on them, and whether `lookup`, which finds nothing here, was called on the way to it. Hooks, NOTES.txt and
// the folder crds are left out.
//
// Templates are untrusted programs: they can loop, allocate and recurse. [Workers] lets a program of its own render
// ([Program], package worker), without environment and with limits of time, memory and output, and replaces a process
// that breaks one. A process serves many releases, because starting one costs more than most charts. Helm's library is
// linked into that program only.
//
// A template's error can quote values, which can be secret. A [Failure] says where a chart fails. Its reason quotes
// nothing but the chart's own text and messages of Go's library.
package helm
