package main

import (
	_ "embed"
	"errors"
	"io"
	"io/fs"
	"strings"
	"text/template"
)

//go:embed formula.rb
var formula string

// system is an operating system in the formula, and archive the archive for one of its architectures. Block is
// Homebrew's name for it.
type (
	system struct {
		Block    string
		Archives []archive
	}
	archive struct{ Block, Name, Sum string }
)

// writeFormula writes the Homebrew formula for the platforms of the release.
func (r release) writeFormula() error {
	var systems []system
	for _, os := range [][2]string{{"darwin", "on_macos"}, {"linux", "on_linux"}} {
		s := system{Block: os[1]}
		for _, arch := range [][2]string{{"arm64", "on_arm"}, {"amd64", "on_intel"}} {
			name := "agentry_" + platform{os[0], arch[0]}.String() + ".tar.gz"
			sum, err := r.checksum(name)
			if errors.Is(err, fs.ErrNotExist) {
				continue
			}
			if err != nil {
				return err
			}
			s.Archives = append(s.Archives, archive{arch[1], name, sum})
		}
		if len(s.Archives) > 0 {
			systems = append(systems, s)
		}
	}
	parsed, err := template.New("formula.rb").Parse(formula)
	if err != nil {
		return err
	}
	return r.write("agentry.rb", func(w io.Writer) error {
		return parsed.Execute(w, map[string]any{"Version": strings.TrimPrefix(r.version, "v"), "Systems": systems})
	})
}
