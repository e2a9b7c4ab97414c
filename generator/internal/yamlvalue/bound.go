package yamlvalue

// bound returns an upper bound of the number of values in a text, without its aliases. It counts characters that can
// begin a value, wherever they are, so the bound is too high for texts with many of them in strings. It needs no
// memory, while parsers need up to 400 bytes for each value before they return.
func bound(text string) int {
	values := 1
	for i := range len(text) {
		switch text[i] {
		case ',', '[', '{':
			values++
		case ':', '-', '?':
			if i+1 == len(text) || isSpace(text[i+1]) {
				values++
			}
		}
	}
	return values
}

func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }
