package diag

import (
	"fmt"
	"io"
)

// Printer writes a whole report in one format, in the order of the list.
type Printer interface {
	Print(w io.Writer, list List) error
}

// once returns the list with one finding for each mistake in a file that several kustomizations are built from.
func (l List) once() List {
	first := map[Mistake]int{}
	more := map[int]int{}
	var out List
	for _, d := range l {
		m := d.Mistake()
		if at, found := first[m]; found && d.Line > 0 && out[at].BuiltBy != d.BuiltBy {
			more[at]++
			continue
		}
		first[m] = len(out)
		out = append(out, d)
	}
	for at, n := range more {
		out[at].BuiltBy += fmt.Sprintf(", and %d more", n)
	}
	return out
}
