// Package browse reads what the service has cached of the repositories of its pipelines: the commits of an output
// branch and what each of them changes, the rendered files, and the lines of the inputs that diagnostics are about. The
// console asks it.
//
// It asks no remote, so it knows what the last look at a repository has fetched. Of an output branch it shows the
// commits of the branch itself and nothing else that is in the repository. What a commit changes is said by package
// difference, in the words of `agentry diff`. No byte of a Secret is shown.
//
// Questions and answers have a bounded size. Commits never change, so the last answers about them are kept.
package browse
