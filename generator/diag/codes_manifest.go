package diag

// manifestCodes documents what is found while manifests are read.
func manifestCodes() []CodeInfo {
	return nil
}
