// Package worker lets separate programs do what agentry must not do itself: run templates of strangers, or link
// libraries that are larger than agentry. It is both ends of the pipe between them.
//
// A [Pool] starts processes of a program and asks each one question after the other, because starting one costs more
// than most questions. They have limits of time, memory and output; a process that exceeds one is killed and replaced,
// and the question fails with [Broken]. [Serve] is all that the program does.
//
// Both ends write frames: a byte for the kind, four bytes of length, and bytes that only the program and its caller
// understand. A worker writes nothing else: its standard error is discarded.
package worker
