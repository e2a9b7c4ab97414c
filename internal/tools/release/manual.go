package main

import (
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/cpuguy83/go-md2man/v2/md2man"
)

// manual is the name of the manual page, which is independent of the platform.
const manual = "agentry.1"

// writeManual writes the manual page from docs/cli.md, which is the --help output of all commands.
func writeManual(root, folder, version string, at time.Time) error {
	text, err := os.ReadFile(filepath.Join(root, "docs", "cli.md"))
	if err != nil {
		return err
	}
	_, body, _ := strings.Cut(string(text), "-->\n") // skip the title and the comment about the generator
	head := "% AGENTRY 1 " + at.Format(time.DateOnly) + " " + version +
		"\n\n# NAME\n\nagentry - render Grafana Agent Operator custom resources from Git to Git\n\n# DESCRIPTION\n"
	page := md2man.Render([]byte(head + strings.ReplaceAll(body, "\n## ", "\n# ")))
	return os.WriteFile(filepath.Join(folder, manual), page, 0o644)
}
