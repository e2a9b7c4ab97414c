package diag

// Finding is a diagnostic without its object, for packages that see only a part of a custom resource. The
// caller adds the object. Path is the path of the problem in the object.
type Finding struct {
	Severity Severity
	Code     Code
	Path     string
	Message  string
	Hint     string
	// Related are the other objects that the problem depends on, as in a [Diagnostic]. An object without a
	// namespace is in the namespace of the finding's object.
	Related []Object
}
