//go:build !linux && !darwin

package doctor

import "errors"

func freeBytes(string) (uint64, error) { return 0, errors.ErrUnsupported }
