//go:build !oracle

package strict

import "net/http"

// confirm takes our word for it.
func confirm(int, http.Header, []byte, []Group) error { return nil }
