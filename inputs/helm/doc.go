// Package helm renders Helm charts, by Helm's own library, outside every cluster.
//
// A [Release] is everything that the result depends on: the chart's files, name, namespace, values, and what the cluster is
// said to be. Equal releases give equal documents: functions that answer with randomness or the time are replaced. A chart
// is rendered twice, with different answers of these functions, so that each [Document] says whether it depends on them, and
// whether `lookup`, which finds nothing here, was called on the way to it. Hooks, NOTES.txt and the folder crds are left out.
//
// Templates are programs of strangers: they can loop, allocate and recurse. [Workers] lets a program of its own render
// ([Program], package worker), without environment and with limits of time, memory and output, and replaces a process that
// breaks one. A process serves many releases, because starting one costs more than most charts. Helm's library is linked
// into that program only.
//
// A template's error can quote values, which can be secret. A [Failure] says where a chart fails, and only as much of why
// as stands in the chart itself or in Go's own words.
package helm
