package flux

import "github.com/agentry-dev/agentry/test/e2e/harness/gitops"

// edit replaces a text in a file of the user's clone.
func (w *testbed) edit(file, before, after string) {
	w.t.Helper()
	w.user.Edit(w.t, file, before, after)
}

// push commits what the user has changed, and returns the commit.
func (w *testbed) push(message string) string {
	w.t.Helper()
	return w.user.Push(w.t, message)
}

// settled waits until agentry has rendered a commit and Flux has applied what came of it.
func (w *testbed) settled(input string) gitops.Status {
	w.t.Helper()
	s := gitops.Rendered(w.t, "prod", input)
	w.applied(s.Output.Commit)
	return s
}
