package initialize

import (
	"fmt"

	"github.com/agentry-dev/agentry/internal/scaffold"
)

// overlay writes a folder with a GrafanaAgent that selects everything, and says how to read monitors with it. folder is
// its name as it was typed.
func (i initializer) overlay(at place, folder string) error {
	if _, err := write(at.top, scaffold.Options{}, scaffold.Overlay(at.folder)); err != nil {
		return err
	}
	_, err := fmt.Fprintf(i.Stdout, `wrote a GrafanaAgent that selects everything to %[1]s: it is to try agentry with

  agentry check PATH %[1]s
  agentry tree PATH %[1]s
`, folder)
	return err
}
