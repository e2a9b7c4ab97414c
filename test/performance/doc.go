// Package performance measures the programs that users run, as processes of their own: what a command, a pass of
// agentry sync or agentry serve takes, in processor time, time and memory, against what somebody else takes for the
// same in the same run: git, or libyaml. `make bench` runs it and prints a table; docs/performance.md shows one.
//
// Nothing here fails because something is slow: machines differ, and ratios are for people to read.
package performance
