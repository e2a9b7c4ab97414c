// Package worker lets programs of their own do what agentry must not do itself: run templates of strangers, or link
// libraries that are larger than agentry. It is both ends of the pipe between them.
//
// A [Pool] starts processes of a program and asks them, one question after the other, for starting one costs more than most
// questions. They have limits of time, memory and output; a process that breaks one is killed and replaced, and the question
// fails with [Broken]. [Serve] is all that the program does.
//
// Both ends say frames: a byte that says what it is, four bytes of length, and bytes that only the program and who asks it
// know. A worker writes nothing else: its standard error is discarded.
package worker
