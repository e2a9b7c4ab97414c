// Package explainers answers questions about the last passes of a fleet: why an object is rendered as it is, and which
// objects have certain words. The API and the console of `agentry serve` ask it, so both say the same.
//
// An [explain.Explainer] takes longer to make than to ask. A [Store] therefore keeps the explainers of a few pipelines,
// each until the next render of its pipeline. The fleet keeps the names that a search finds. Questions and answers have
// a bounded size.
package explainers
