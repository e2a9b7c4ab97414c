package structure

import (
	"bytes"
	"go/scanner"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"
)

const (
	maxColumns = 120
	tabColumns = 4
)

var padding = regexp.MustCompile(` {2,}`)

// TestLinesEndBeforeColumn120 exempts what cannot be broken: a marker of a generator, a literal without spaces, text
// between backquotes and, in tests, a long literal and the padding of a table.
func TestLinesEndBeforeColumn120(t *testing.T) {
	checked := 0
	err := filepath.WalkDir(root, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(name, ".go") {
			return err
		}
		data, err := os.ReadFile(name)
		if err != nil || bytes.Contains(data, []byte("\n// Code generated")) ||
			bytes.HasPrefix(data, []byte("// Code generated")) {
			return err
		}
		checked++
		exempt := unbreakable(name, data)
		for i, line := range strings.Split(string(data), "\n") {
			if strings.HasSuffix(name, "_test.go") {
				line = padding.ReplaceAllString(line, " ")
			}
			if columns(line) > maxColumns && !exempt[i+1] {
				t.Errorf("%s:%d: the line has %d columns, at most %d are allowed", name, i+1, columns(line), maxColumns)
			}
		}
		return nil
	})
	if err != nil || checked < 1000 {
		t.Errorf("%d files checked: %v", checked, err)
	}
}

// columns returns the width of a line in an editor that shows a tab as four columns.
func columns(line string) int {
	return utf8.RuneCountInString(line) + (tabColumns-1)*strings.Count(line, "\t")
}

// unbreakable returns the lines that have a token which cannot be broken.
func unbreakable(name string, data []byte) map[int]bool {
	lines := map[int]bool{}
	files := token.NewFileSet()
	file := files.AddFile(name, -1, len(data))
	var s scanner.Scanner
	s.Init(file, data, nil, scanner.ScanComments)
	for {
		pos, tok, text := s.Scan()
		if tok == token.EOF {
			return lines
		}
		whole := strings.HasSuffix(name, "_test.go") && len(text) > maxColumns/2
		if tok == token.STRING && (text[0] == '`' || whole || !breakable(text)) ||
			tok == token.COMMENT && (strings.HasPrefix(text, "// +") || !strings.Contains(text[2:], " ")) {
			first := file.Line(pos)
			for line := first; line <= first+strings.Count(text, "\n"); line++ {
				lines[line] = true
			}
		}
	}
}

// breakable reports whether a string can go on in the next line: it has a space that is not at its very beginning.
func breakable(text string) bool { return len(text) < 60 || strings.LastIndexByte(text, ' ') > 20 }
