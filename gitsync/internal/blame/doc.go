// Package blame says who a finding is a matter of: the commit that last changed the document that it is in, and the
// owners of its file.
package blame
