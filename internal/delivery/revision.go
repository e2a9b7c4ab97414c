package delivery

import "strings"

// minCommit is the shortest beginning of a commit id that counts as one.
const minCommit = 12

// commitOf returns the commit in a revision as Flux writes it: BRANCH@sha1:COMMIT, TAG@sha1:COMMIT, sha1:COMMIT, of old
// versions BRANCH/COMMIT, and VERSION+COMMIT of a chart, which has only the first 12 digits. A commit alone is one too.
// Anything else, such as the digest of an artifact or the version of a chart, gives none.
func commitOf(revision string) string {
	if _, after, ok := strings.Cut(revision, "+"); ok && !strings.ContainsAny(revision, "@:/") {
		after, _, _ = strings.Cut(after, ".") // the number of a change in the chart's values
		if isHex(after) && len(after) >= minCommit {
			return after
		}
		return ""
	}
	rest := revision[strings.LastIndex(revision, "@")+1:]
	algorithm, id, ok := strings.Cut(rest, ":")
	switch {
	case !ok:
		id = rest[strings.LastIndex(rest, "/")+1:]
	case algorithm != "sha1" && algorithm != "sha256":
		return ""
	}
	if len(id) != 40 && len(id) != 64 || !isHex(id) {
		return ""
	}
	return id
}

func isHex(text string) bool {
	return strings.Trim(text, "0123456789abcdef") == ""
}

// branchOf returns the branch in a revision, as [commitOf] reads it, or nothing for that of a chart or a commit alone.
// A tag looks like a branch.
func branchOf(revision string) string {
	at := strings.LastIndex(revision, "@")
	if at < 0 {
		at = strings.LastIndex(revision, "/")
	}
	if at < 0 {
		return ""
	}
	return strings.TrimPrefix(revision[:at], "refs/heads/")
}
