// Package difference compares two renders by the meaning of their objects: a scrape job, a relabel rule, a writer, a
// log pipeline, a container. It never compares lines.
//
// [Compare] takes objects before and after, and returns a [Difference]: first its consequences (which pods restart,
// which series end, what is no longer sent where), then every change of every object. The changes are complete:
// applied to the objects before, they give the objects after. For encrypted values a difference only says that they
// change. Manifests that differ only in formatting have no difference.
//
// For a render, it compares the values of objects and configurations, in the terms of the agent's configuration
// whatever program runs. For a folder or an output branch it has only the manifests: then it reads the agent's
// configuration, and compares Alloy's by component. A difference contains no value of a Secret: a [Hidden] only tells
// whether the value changed.
//
// Small changes are cheap to compare: only the jobs of a large configuration that differ are made or parsed.
package difference
