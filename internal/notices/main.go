// Command notices prints the licences of all code that is linked into programs. It reads what `go list -deps -json`
// prints about them, so it needs no network:
//
//	go list -deps -json ./cmd/... | go run ./internal/notices "$(go env GOROOT)"
//
// A module without a licence is an error: it must not be shipped.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

func main() {
	if err := run(os.Args[1:], os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "notices:", err)
		os.Exit(1)
	}
}

func run(args []string, in io.Reader, out io.Writer) error {
	if len(args) != 1 {
		return errors.New(`usage: go list -deps -json PACKAGE... | notices "$(go env GOROOT)"`)
	}
	texts, err := licences(in, args[0])
	if err != nil {
		return err
	}
	return write(out, texts)
}

// goPackage is a package in the output of go list.
type goPackage struct {
	ImportPath, Dir string
	Standard        bool
	Module          *struct {
		Path, Version, Dir string
		Main               bool
	}
}

// licences returns each licence text with the modules it covers. The standard library's is in goroot.
func licences(in io.Reader, goroot string) (map[string][]string, error) {
	texts, owners := map[string][]string{}, map[string]bool{}
	decoder := json.NewDecoder(in)
	for {
		var p goPackage
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, fmt.Errorf("read the packages: %w", err)
		}
		owner, root, dir := "Go", goroot, goroot
		switch {
		case p.Module != nil && p.Module.Main:
			continue
		case p.Module != nil:
			owner, root, dir = p.Module.Path+" "+p.Module.Version, p.Module.Dir, p.Dir
		case !p.Standard:
			return nil, fmt.Errorf("%s does not belong to a module", p.ImportPath)
		}
		owners[owner] = owners[owner] || false
		found, err := above(dir, root)
		if err != nil {
			return nil, err
		}
		for _, text := range found {
			owners[owner] = true
			if !slices.Contains(texts[text], owner) {
				texts[text] = append(texts[text], owner)
			}
		}
	}
	for _, owner := range slices.Sorted(maps.Keys(owners)) {
		if !owners[owner] {
			return nil, fmt.Errorf("%s has no licence file", owner)
		}
	}
	if len(owners) == 0 {
		return nil, errors.New("no packages on standard input")
	}
	return texts, nil
}

// licence matches the names of files that must accompany copies.
var licence = regexp.MustCompile(`(?i)^(licen[cs]e|copying|copyright|notice|patents)([-._].*)?$`)

// above returns the licence texts in a package's folder and in those above it, because code inside a module can have
// its own licence.
func above(dir, root string) ([]string, error) {
	var out []string
	for ; ; dir = filepath.Dir(dir) {
		entries, err := os.ReadDir(dir)
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			if !e.Type().IsRegular() || !licence.MatchString(e.Name()) || filepath.Ext(e.Name()) == ".go" {
				continue
			}
			text, err := os.ReadFile(filepath.Join(dir, e.Name()))
			if err != nil {
				return nil, err
			}
			out = append(out, strings.TrimSpace(strings.ReplaceAll(string(text), "\r\n", "\n")))
		}
		if dir == root || dir == filepath.Dir(dir) {
			return out, nil
		}
	}
}

// write prints each text once, below the names of the modules that it covers.
func write(w io.Writer, texts map[string][]string) error {
	var b strings.Builder
	b.WriteString("These programs contain the following software, under the licences that are printed below each " +
		"list.\n")
	var sections []string
	for text, owners := range texts {
		slices.Sort(owners)
		sections = append(sections, strings.Join(owners, "\n")+"\n\n"+text)
	}
	slices.Sort(sections)
	for _, section := range sections {
		fmt.Fprintf(&b, "\n%s\n\n%s\n", strings.Repeat("=", 80), section)
	}
	_, err := io.WriteString(w, b.String())
	return err
}
