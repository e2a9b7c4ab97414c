package pipeline

import (
	"errors"
	"path"
	"strings"
	"unicode"
	"unicode/utf8"
)

// CheckFolder refuses a folder whose name could have another meaning in a path. The names come from a
// repository, and become part of branches and of the names of files with credentials.
func CheckFolder(folder string) error {
	for segment := range strings.SplitSeq(folder, "/") {
		switch {
		case segment == "" || segment == "." || segment == "..":
			return errors.New("is not a folder's name")
		case !utf8.ValidString(segment) || strings.ContainsFunc(segment, func(r rune) bool {
			return !unicode.IsPrint(r) || r == '\\'
		}):
			return errors.New("has a name with characters that cannot be printed, or a backslash")
		}
	}
	return nil
}

// validateForEach checks the pattern of forEach. The other fields are still templates and are checked for each folder.
func validateForEach(pattern string) findings {
	var f findings
	if pattern == "" {
		return f
	}
	const at = "spec.forEach"
	_, err := path.Match(pattern, "")
	f.check(err == nil, at, "", "is not a pattern: a bracket is not closed, or a backslash ends it")
	f.check(!strings.Contains(pattern, "**"), at, "write one * for each level, such as clusters/*/*",
		"must not hold **")
	f.check(strings.ContainsAny(pattern, "*?["), at, "write it like clusters/*, or leave out forEach",
		"matches only one folder")
	f.check(path.Clean(pattern) == pattern && pattern != ".", at, "write it like clusters/*",
		"must be a clean path, relative to the repository's root")
	f.add(validateRepositoryPath(at, pattern))
	return f
}
