// Package helm renders Helm charts with Helm's own library, without a cluster.
//
// A [Release] is everything that the result depends on: the chart's files, its name, namespace, values, and the
// description of the cluster. Equal releases render to equal documents: functions that return random values or the
// time are replaced. A chart is rendered twice, with different results of these functions, so that each [Document]
// says whether it depends on them, and whether its template called `lookup`, which finds nothing here. Hooks,
// NOTES.txt and the folder crds are left out.
//
// Templates are untrusted programs: they can loop, allocate and recurse. [Workers] therefore render in processes of a
// separate program ([Program], package worker), without environment and with limits on time, memory and output. A
// process that exceeds a limit is replaced; otherwise it serves many releases, because starting one costs more than
// rendering most charts. Only that program links Helm's library.
//
// A template's error can quote values, which can be secret. A [Failure] says where a chart fails, and quotes only the
// chart's own text and messages of Go's library.
package helm
