// Package agentconfig turns a hierarchy into the configuration of its agents.
//
// An object with an error is left out, and everything else is built as if it were not
// there: build, leave out what is to blame, build again. Beside the checks of single
// objects these are the agent's rules for a whole configuration, which it would refuse
// only when its pods crash.
package agentconfig
