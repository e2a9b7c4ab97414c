package main

import (
	"bytes"
	"fmt"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// size measures the source of package sd, from the root of the repository.
func size(b *bench) error {
	files, err := filepath.Glob("sd/*.go")
	if err != nil {
		return err
	}
	lines, others := 0, map[string]bool{}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		lines += bytes.Count(text, []byte("\n"))
		parsed, err := parser.ParseFile(token.NewFileSet(), file, text, parser.ImportsOnly)
		if err != nil {
			return err
		}
		for _, i := range parsed.Imports {
			path, _ := strconv.Unquote(i.Path.Value)
			if counts(path) {
				others[path] = true
			}
		}
	}
	b.row("G25", "package sd: lines that are no tests", "≤ 1500", fmt.Sprint(lines), lines > 0 && lines <= 1500)
	b.row("G25", "package sd: dependencies beyond client-go and client_golang", "≤ 3", fmt.Sprint(len(others)),
		len(others) <= 3)
	return nil
}

// counts reports whether an import is a dependency that needs a reason.
func counts(path string) bool {
	for _, prefix := range []string{"github.com/agentry-dev/agentry/", "k8s.io/client-go/",
		"github.com/prometheus/client_golang/"} {
		if strings.HasPrefix(path, prefix) {
			return false
		}
	}
	host, _, _ := strings.Cut(path, "/")
	return strings.Contains(host, ".")
}
