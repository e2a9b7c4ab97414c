// Package garbage lets the program start without collecting any, of which most commands make too little to be worth the
// time. Importing it is enough: by its path, and because it needs little, it is initialised before the packages that
// make most of it. (Go initialises packages in the order of their paths, each after what it imports.)
package garbage

import (
	"os"
	"runtime"
	"runtime/debug"
)

// startPercent lets the first collection wait for a heap of 16 MB, four times what Go begins with. A memory limit is
// kept to all the same.
const startPercent = 400

var _ = wait()

// wait sets the percentage, which the first collection sets back. It respects GOGC.
func wait() (waits bool) {
	if _, isSet := os.LookupEnv("GOGC"); isSet {
		return false
	}
	usual := debug.SetGCPercent(startPercent)
	runtime.AddCleanup(new([64]byte), func(percent int) { debug.SetGCPercent(percent) }, usual)
	return true
}
