// Package structure checks two rules that the compiler cannot: the product compares no times of day, and each
// diagnostic has the severities that the manual names. Package imports, beside it, checks which packages may import
// which.
package structure
