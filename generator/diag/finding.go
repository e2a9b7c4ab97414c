package diag

// Finding is a diagnostic that does not know its object yet: what packages report that see
// only a piece of a custom resource. Path says where in the object it is.
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
