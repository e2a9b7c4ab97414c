package diag

// Suggest returns the candidate that word is most likely a misspelling of, or nothing
// if none is near. Of equally near ones it is the first.
func Suggest(word string, candidates []string) (string, bool) {
	best, bestDistance := "", max(1, len(word)/3)+1
	for _, c := range candidates {
		if d := distance(word, c); d < bestDistance {
			best, bestDistance = c, d
		}
	}
	return best, best != ""
}

// DidYouMean is the hint that names the likely candidate; it is empty if there is none.
func DidYouMean(word string, candidates []string) string {
	if s, ok := Suggest(word, candidates); ok {
		return "did you mean " + s + "?"
	}
	return ""
}

// distance counts the letters to insert, delete, change or swap with their neighbour
// (the optimal string alignment distance). Case does not count.
func distance(a, b string) int {
	var before, previous []int
	current := make([]int, len(b)+1)
	for j := range current {
		current[j] = j
	}
	for i := 1; i <= len(a); i++ {
		before, previous, current = previous, current, make([]int, len(b)+1)
		current[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if lower(a[i-1]) == lower(b[j-1]) {
				cost = 0
			}
			current[j] = min(previous[j]+1, current[j-1]+1, previous[j-1]+cost)
			if i > 1 && j > 1 && lower(a[i-1]) == lower(b[j-2]) && lower(a[i-2]) == lower(b[j-1]) {
				current[j] = min(current[j], before[j-2]+1)
			}
		}
	}
	return current[len(b)]
}

func lower(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		return c + 'a' - 'A'
	}
	return c
}
