// Package repobrowser shows the repositories that the service has cached for its pipelines: the commits of an output
// branch and their changes, the rendered files, and the lines of the inputs that diagnostics are about. The console
// uses it.
//
// It contacts no remote, so it knows the state of the last fetch. From the repository of an output branch it shows
// only the commits of that branch. Package difference describes the changes of a commit, as in `agentry diff`. No byte
// of a Secret is shown.
//
// Requests and answers have a limited size. Commits never change, so the latest answers about them are kept.
package repobrowser
