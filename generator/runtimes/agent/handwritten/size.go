package handwritten

import (
	"math"
	"strconv"
	"strings"
)

// isSize reports whether the agent reads a text as a number of bytes: numbers with units, one after the other, such
// as 1GiB512MB.
func isSize(text string) bool {
	text = strings.TrimPrefix(strings.TrimPrefix(text, "+"), "-")
	return text == "0" || sum(text, "iB") || sum(text, "B")
}

// sum reports whether a text is a sum of numbers with units that end in the suffix.
func sum(text, suffix string) bool {
	total := 0.0
	for rest := text; rest != ""; {
		digits := strings.TrimLeft(rest, "0123456789.")
		n, err := strconv.ParseFloat(rest[:len(rest)-len(digits)], 64)
		unit := digits[:len(digits)-len(strings.TrimLeft(digits, "BKMGTPEi"))]
		if err != nil || n >= 1<<59 {
			return false
		}
		power := strings.IndexByte("BKMGTPE", (unit + "?")[0])
		if power < 0 || unit != "B" && unit != string("BKMGTPE"[power])+suffix || power == 0 && unit != "B" {
			return false
		}
		total += math.Ldexp(n, 10*power)
		rest = digits[len(unit):]
	}
	return text != "" && total < math.MaxInt64
}
