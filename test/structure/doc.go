// Package structure checks rules that the compiler cannot: the product compares no times of day, and the manual is
// right about severities of diagnostics and about limits. Package imports, beside it, checks which packages may import
// which.
package structure
