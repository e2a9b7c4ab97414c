package command

import (
	"bytes"
	"errors"
	"io"
	"os"

	"github.com/agentry-dev/agentry/internal/kubelist"
)

// ReadExport reads a file that kubectl wrote, or standard input for -. The hint fewer is for one that is too large.
func ReadExport(stdin io.Reader, file, fewer string) ([]byte, error) {
	from := stdin
	if file != "-" {
		opened, err := os.Open(file)
		if err != nil {
			return nil, err
		}
		defer opened.Close() // nothing was written
		if info, err := opened.Stat(); err == nil && info.IsDir() {
			return nil, Usagef("name the file that kubectl get -o yaml wrote; agentry check reads folders",
				"%s is a folder", file)
		}
		from = opened
	}
	text, err := io.ReadAll(io.LimitReader(from, kubelist.MaxBytes+1))
	if err == nil && len(text) > kubelist.MaxBytes {
		err = Usagef(fewer, "%s is larger than %d MiB", file, kubelist.MaxBytes>>20)
	}
	if err == nil && len(bytes.TrimSpace(text)) == 0 {
		err = Usagef("kubectl get -o yaml prints a list even if there is no object: see what it said", "%s is empty",
			file)
	}
	return text, err
}

// ExportError says what is wrong with a file that kubectl wrote.
func ExportError(file string, err error) error {
	hint := "write it with kubectl get -o yaml"
	if mistake, is := errors.AsType[*kubelist.Mistake](err); is {
		hint = mistake.Hint
	}
	return Usagef(hint, "%s: %v", file, err)
}
