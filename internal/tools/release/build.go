package main

import (
	"bytes"
	"context"
	"debug/buildinfo"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// clone clones the current commit into a temporary folder, which done removes. Go records the version only in a clone,
// and not in a work tree made by git worktree.
func clone(ctx context.Context, root string) (folder string, done func(), err error) {
	changes, err := output(ctx, root, nil, nil, "git", "status", "--porcelain")
	if err != nil {
		return "", nil, err
	}
	if len(changes) > 0 {
		fmt.Fprintf(os.Stderr, "release: %d files differ from the last commit, which is what is built\n",
			bytes.Count(changes, []byte("\n")))
	}
	if folder, err = os.MkdirTemp("", "agentry-clone-"); err != nil {
		return "", nil, err
	}
	done = func() { _ = os.RemoveAll(folder) } // if this fails, the temporary folder stays
	if _, err = output(ctx, root, nil, nil, "git", "clone", "-q", "--shared", ".", folder); err != nil {
		done()
		return "", nil, err
	}
	return folder, done, nil
}

// build builds the programs for a platform into a folder, and puts the licences beside them. The tag leaves out the
// generator of manual pages in the command-line library, which is not used.
func build(ctx context.Context, root, folder string, p platform) error {
	if err := os.RemoveAll(folder); err != nil {
		return err
	}
	absolute, err := filepath.Abs(folder)
	if err != nil {
		return err
	}
	target := []string{"CGO_ENABLED=0", "GOOS=" + p.os, "GOARCH=" + p.arch}
	tags := []string{"-tags", "urfave_cli_no_docs", "./cmd/..."}
	_, err = output(ctx, root, target, nil, "go",
		append([]string{"build", "-trimpath", "-buildvcs=true", "-ldflags", "-s -w", "-o", absolute + "/"}, tags...)...)
	if err != nil {
		return err
	}
	if err := checkSizes(folder, p); err != nil {
		return err
	}
	packages, err := output(ctx, root, target, nil, "go", append([]string{"list", "-deps", "-json"}, tags...)...)
	if err != nil {
		return err
	}
	goroot, err := output(ctx, root, nil, nil, "go", "env", "GOROOT")
	if err != nil {
		return err
	}
	notices, err := output(ctx, root, nil, packages, "go", "run", "./internal/notices",
		strings.TrimSpace(string(goroot)))
	if err != nil {
		return err
	}
	licence, err := os.ReadFile(filepath.Join(root, "LICENSE"))
	if err != nil {
		return err
	}
	for i, text := range [][]byte{licence, notices} {
		if err := os.WriteFile(filepath.Join(folder, licences()[i]), text, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// checkSizes prints the sizes of the programs, and fails if one is too large.
func checkSizes(folder string, p platform) error {
	for _, product := range products() {
		for _, name := range product.programs {
			info, err := os.Stat(filepath.Join(folder, name))
			if err != nil {
				return err
			}
			fmt.Printf("%s %s: %d bytes\n", p, name, info.Size())
			if limit := maxBytes()[name]; p == (platform{"linux", "amd64"}) && info.Size() > limit {
				return fmt.Errorf("%s has %d bytes, more than its limit of %d", name, info.Size(), limit)
			}
		}
	}
	return nil
}

// versionOf returns the version that Go embedded in a program.
func versionOf(file string) (string, error) {
	info, err := buildinfo.ReadFile(file)
	if err != nil {
		return "", err
	}
	if info.Main.Version == "" || info.Main.Version == "(devel)" {
		return "", fmt.Errorf("%s has no version: build it in a clone of the repository, with Git", file)
	}
	return info.Main.Version, nil
}

// commitTime returns the time of the release's files.
func commitTime(ctx context.Context, root string) (time.Time, error) {
	text := os.Getenv("SOURCE_DATE_EPOCH")
	if text == "" {
		out, err := output(ctx, root, nil, nil, "git", "log", "-1", "--format=%ct")
		if err != nil {
			return time.Time{}, err
		}
		text = strings.TrimSpace(string(out))
	}
	seconds, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return time.Time{}, fmt.Errorf("SOURCE_DATE_EPOCH: %q is not a number of seconds", text)
	}
	return time.Unix(seconds, 0).UTC(), nil
}

// output runs a program in a folder, with additional variables and an input, and returns its output.
func output(ctx context.Context, dir string, env []string, input []byte, program string, args ...string) ([]byte,
	error) {
	c := exec.CommandContext(ctx, program, args...)
	var errs bytes.Buffer
	c.Dir, c.Env, c.Stdin, c.Stderr = dir, append(os.Environ(), env...), bytes.NewReader(input), &errs
	out, err := c.Output()
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w\n%s", program, strings.Join(args, " "), err, errs.String())
	}
	return out, nil
}
