// Package build turns a hierarchy into the configuration of its agents.
//
// Beside the checks of single objects it makes those of whole configurations: the agent
// would refuse them only when its pods crash. Every error blames an object; what becomes of
// it is the caller's to decide, who builds again without it.
package build
