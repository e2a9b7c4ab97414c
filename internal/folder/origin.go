package folder

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"

	"github.com/go-git/go-git/v5/plumbing/format/config"
)

// origin returns the URL of the remote origin of a Git work tree, or "".
func origin(top string) string {
	at := filepath.Join(top, ".git")
	if text, err := os.ReadFile(at); err == nil { // a linked work tree
		at = relativeTo(top, strings.TrimSpace(strings.TrimPrefix(string(text), "gitdir:")))
		if common, err := os.ReadFile(filepath.Join(at, "commondir")); err == nil {
			at = relativeTo(at, strings.TrimSpace(string(common)))
		}
	}
	text, err := os.ReadFile(filepath.Join(at, "config"))
	if err != nil {
		return ""
	}
	var settings config.Config
	if config.NewDecoder(bytes.NewReader(text)).Decode(&settings) != nil {
		return ""
	}
	return settings.Section("remote").Subsection("origin").Option("url")
}

func relativeTo(dir, name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(dir, name)
}
