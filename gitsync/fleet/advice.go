package fleet

import "github.com/agentry-dev/agentry/gitsync"

// advised is an error in words for a condition: with the way out, where somebody has to take one.
func advised(err error) string {
	if way := gitsync.WayOut(err); way != "" {
		return err.Error() + "; " + way
	}
	return err.Error()
}
