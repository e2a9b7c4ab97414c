// Package worker lets separate programs do what agentry must not do itself: execute untrusted templates, or link
// libraries that are larger than agentry. It implements both ends of the pipe between agentry and the program.
//
// A [Pool] starts processes of a program and sends each one question after another, because starting a process costs
// more than answering most questions. Time, memory and output are limited; a process that exceeds a limit is killed
// and replaced, and the question fails with [Broken]. The program itself just calls [Serve].
//
// Both ends write frames: a byte for the kind, four bytes for the length, and data that only the program and its
// caller understand. A worker writes nothing else: its standard error is discarded.
package worker
