package diag

import "io"

// Printer writes a whole report in one format, in the order of the list.
type Printer interface {
	Print(w io.Writer, list List) error
}
