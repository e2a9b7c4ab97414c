package worker

import (
	"io"
	"os"
	"runtime"
)

// variable says in the environment of a process which worker it is.
const variable = "AGENTRY_WORKER"

// Become makes this process a worker, which ends without running main, if [Options.Self] of the process that started
// it is this name. A package whose workers are the program itself calls it in an init function: then each program that
// links the package can start workers, such as a test.
func Become(name string, serve func(in io.Reader, out io.Writer) int) {
	if os.Getenv(variable) == name {
		os.Exit(serve(os.Stdin, os.Stdout))
	}
}

// self returns the file of this program. On Linux that is the file that runs, even if another has its name now.
func self() (string, error) {
	if runtime.GOOS == "linux" {
		return "/proc/self/exe", nil
	}
	return os.Executable()
}
