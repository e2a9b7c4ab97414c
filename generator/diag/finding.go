package diag

// Finding is a diagnostic without its object. Packages that see only a piece of a custom resource
// return findings; the caller knows the object. Path says where in the object the problem is.
type Finding struct {
	Severity Severity
	Code     Code
	Path     string
	Message  string
	Hint     string
	// Related are the other objects without which there would be no finding, as in a
	// [Diagnostic]. One without a namespace is in that of the object.
	Related []Object
}
