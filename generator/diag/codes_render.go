package diag

// renderCodes documents what is found while hierarchies are rendered.
func renderCodes() []CodeInfo {
	return nil
}
