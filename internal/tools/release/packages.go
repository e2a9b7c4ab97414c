package main

import (
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/goreleaser/nfpm/v2"
	_ "github.com/goreleaser/nfpm/v2/deb"
	"github.com/goreleaser/nfpm/v2/files"
	_ "github.com/goreleaser/nfpm/v2/rpm"
)

// writePackages makes a .deb and an .rpm: the programs, their manual page, completion, the systemd unit, and the
// folders that the unit reads. The unit is not started, because it needs a pipeline first.
func (r release) writePackages(folder string, p product, at platform) error {
	unit, err := r.writeUnit(folder)
	if err != nil {
		return err
	}
	for _, format := range []string{"deb", "rpm"} {
		packager, err := nfpm.Get(format)
		if err != nil {
			return err
		}
		info := r.info(folder, unit, p, at)
		if err := nfpm.PrepareForPackager(info, format); err != nil {
			return err
		}
		name := p.name + "_" + at.String() + "." + format
		if err := r.write(name, func(w io.Writer) error { return packager.Package(info, w) }); err != nil {
			return err
		}
	}
	return nil
}

// info describes a package. A library call changes it, so each package needs its own.
func (r release) info(folder, unit string, p product, at platform) *nfpm.Info {
	file := func(source, target string, mode fs.FileMode) *files.Content {
		return &files.Content{Source: source, Destination: target,
			FileInfo: &files.ContentFileInfo{Mode: mode, MTime: r.time}}
	}
	dir := func(target string, mode fs.FileMode) *files.Content {
		return &files.Content{Destination: target, Type: files.TypeDir,
			FileInfo: &files.ContentFileInfo{Mode: mode, MTime: r.time}}
	}
	contents := files.Contents{
		file(unit, "/usr/lib/systemd/system/agentry.service", 0o644),
		dir("/etc/agentry", 0o755), dir("/etc/agentry/pipelines", 0o755), dir("/etc/agentry/credentials", 0o700),
	}
	for _, name := range p.programs {
		contents = append(contents, file(filepath.Join(folder, name), "/usr/bin/"+name, 0o755))
	}
	for _, name := range licences() {
		contents = append(contents, file(filepath.Join(folder, name), "/usr/share/doc/"+p.name+"/"+name, 0o644))
	}
	for _, name := range p.pages {
		contents = append(contents, file(filepath.Join(folder, name), "/usr/share/man/man1/"+name, 0o644))
	}
	for name, target := range map[string]string{
		"agentry.bash": "/usr/share/bash-completion/completions/agentry",
		"agentry.zsh":  "/usr/share/zsh/site-functions/_agentry",
		"agentry.fish": "/usr/share/fish/vendor_completions.d/agentry.fish",
	} {
		contents = append(contents, file(filepath.Join(r.root, "internal", "cli", "completion", name), target, 0o644))
	}
	return nfpm.WithDefaults(&nfpm.Info{
		Name: p.name, Arch: at.arch, Platform: at.os, Version: r.version, MTime: r.time,
		Section: "admin", Priority: "optional",
		Maintainer: "The agentry authors <agentry-dev@users.noreply.github.com>",
		Vendor:     "agentry", Homepage: "https://github.com/agentry-dev/agentry", License: "Apache-2.0",
		Description:     p.says,
		DisableGlobbing: true,
		Overridables: nfpm.Overridables{
			Contents: contents,
			RPM:      nfpm.RPM{BuildHost: "localhost"}, // otherwise the name of this machine
		},
	})
}

// writeUnit writes the systemd unit beside the programs. It expects them in /usr/bin, where packages install them.
func (r release) writeUnit(folder string) (string, error) {
	text, err := os.ReadFile(filepath.Join(r.root, "dist", "systemd", "agentry.service"))
	if err != nil {
		return "", err
	}
	file := filepath.Join(folder, "agentry.service")
	return file, os.WriteFile(file, []byte(strings.ReplaceAll(string(text), "/usr/local/bin/", "/usr/bin/")), 0o644)
}
