// Package explained answers questions about the last passes of a fleet: why an object is rendered as it is, and which
// objects have certain words. The API and the console of `agentry serve` ask it, so both say the same.
//
// What answers takes longer to make than to ask, so it is kept for a few pipelines, until their next render. A question
// has a bounded size, and so has its answer.
package explained
