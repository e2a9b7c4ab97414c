// Package difference says what changes between two renders, by object and by what an object means: a scrape job, a
// relabel rule, a writer, a log pipeline, a container. It never compares lines.
//
// [Compare] takes objects before and after, and returns a [Difference]: first its consequences (which pods restart,
// which series end, who stops sending where), then every change of every object. The changes are complete: applied to
// the objects before, they give the objects after. Of encrypted values a difference only says that they change. Equal
// manifests have no difference, however they are spelled.
//
// Of a render, it compares the values of objects and configurations, in the words of the agent's configuration whatever
// program runs. Of a folder and an output branch it only has the manifests: then the agent's configuration is read, and
// Alloy's is compared by its components. A difference contains no value of a Secret: a [Hidden] only says whether the
// value changed.
//
// Small changes are cheap to compare: of a large configuration, only the jobs that differ are made or parsed.
package difference
