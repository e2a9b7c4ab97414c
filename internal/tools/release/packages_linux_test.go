package main

import (
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	cdx "github.com/CycloneDX/cyclonedx-go"
	"github.com/blakesmith/ar"
	"github.com/sassoftware/go-rpmutils"
)

// packaged returns the files that a package installs.
func packaged() []string {
	return []string{
		"/etc/agentry/credentials", "/etc/agentry/pipelines",
		"/usr/bin/agentry", "/usr/bin/agentry-charts", "/usr/bin/agentry-sops",
		"/usr/lib/systemd/system/agentry.service", "/usr/share/doc/agentry/LICENSE",
		"/usr/share/doc/agentry/THIRD-PARTY-NOTICES.txt",
		"/usr/share/bash-completion/completions/agentry", "/usr/share/zsh/site-functions/_agentry",
		"/usr/share/fish/vendor_completions.d/agentry.fish",
		"/usr/share/man/man1/agentry.1",
	}
}

// TestDebianPackage unpacks the package like dpkg, and starts its program.
func TestDebianPackage(t *testing.T) {
	folder := t.TempDir()
	f, err := os.Open(filepath.Join(made, "agentry_"+host().String()+".deb"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	reader := ar.NewReader(f)
	for {
		header, err := reader.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		name := filepath.Join(folder, strings.TrimSuffix(header.Name, "/"))
		text, err := io.ReadAll(reader)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, text, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	command(t, folder, "tar", "-xzf", "control.tar.gz")
	control := string(read(t, filepath.Join(folder, "control")))
	for _, want := range []string{"Package: agentry\n", "Architecture: " + host().arch + "\n", "Section: admin\n"} {
		if !strings.Contains(control, want) {
			t.Errorf("no %q in\n%s", want, control)
		}
	}
	if version := regexp.MustCompile(`(?m)^Version: (\S+)$`).FindStringSubmatch(control); version == nil ||
		!regexp.MustCompile(`^\d+\.\d+\.\d+`).MatchString(version[1]) {
		t.Errorf("no version in\n%s", control)
	}
	command(t, folder, "tar", "-xzf", "data.tar.gz")
	for _, name := range packaged() {
		if _, err := os.Stat(filepath.Join(folder, name)); err != nil {
			t.Error(err)
		}
	}
	command(t, folder, "./usr/bin/agentry", "version")
	unit := string(read(t, filepath.Join(folder, "usr/lib/systemd/system/agentry.service")))
	if !strings.Contains(unit, "ExecStart=/usr/bin/agentry serve") || strings.Contains(unit, "/usr/local") {
		t.Errorf("the unit starts another program:\n%s", unit)
	}
}

// TestRPM unpacks the package with a library other than the one that makes it, and starts its program.
func TestRPM(t *testing.T) {
	f, err := os.Open(filepath.Join(made, "agentry_"+host().String()+".rpm"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	rpm, err := rpmutils.ReadRpm(f)
	if err != nil {
		t.Fatal(err)
	}
	name, err := rpm.Header.GetNEVRA()
	arch := map[string]string{"amd64": "x86_64", "arm64": "aarch64"}[host().arch]
	if err != nil || name.Name != "agentry" || name.Arch != arch ||
		!regexp.MustCompile(`^\d+\.\d+\.\d+`).MatchString(name.Version) {
		t.Errorf("the package is %+v, %v", name, err)
	}
	folder := t.TempDir()
	if err := rpm.ExpandPayload(folder); err != nil {
		t.Fatal(err)
	}
	for _, name := range packaged() {
		if _, err := os.Stat(filepath.Join(folder, name)); err != nil {
			t.Error(err)
		}
	}
	modes := map[string]int{}
	infos, err := rpm.Header.GetFiles()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range infos {
		modes[f.Name()] = f.Mode() & 0o777
	}
	if modes["/usr/bin/agentry"] != 0o755 || modes["/etc/agentry/credentials"] != 0o700 ||
		modes["/usr/lib/systemd/system/agentry.service"] != 0o644 {
		t.Errorf("modes of files: %v", modes)
	}
	command(t, folder, "chmod", "0755", "usr/bin/agentry") // the library unpacks without modes
	command(t, folder, "./usr/bin/agentry", "version")
}

func TestBOMListsWhatIsLinked(t *testing.T) {
	f, err := os.Open(filepath.Join(made, "agentry_"+host().String()+".cdx.json"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var bom cdx.BOM
	if err := cdx.NewBOMDecoder(f, cdx.BOMFileFormatJSON).Decode(&bom); err != nil {
		t.Fatal(err)
	}
	listed := map[string]bool{}
	for _, c := range *bom.Components {
		if c.Version == "" || c.PackageURL != c.BOMRef || !strings.HasPrefix(c.PackageURL, "pkg:golang/"+c.Name+"@") {
			t.Errorf("component %+v", c)
		}
		listed[c.Name+" "+c.Version] = true
	}
	unpacked := t.TempDir()
	command(t, unpacked, "tar", "-xzf", filepath.Join(made, archiveName()))
	linked := command(t, unpacked, "go", "version", "-m", "agentry", "agentry-charts", "agentry-sops")
	found := 0
	for _, m := range regexp.MustCompile(`(?m)^\tdep\t(\S+)\t(\S+)`).FindAllStringSubmatch(linked, -1) {
		found++
		if !listed[m[1]+" "+m[2]] {
			t.Errorf("%s %s is linked and not listed", m[1], m[2])
		}
	}
	if found < 100 || len(listed) < 100 || !strings.Contains(strings.Join(keys(listed), "\n"), "std 1.") {
		t.Errorf("%d modules are linked and %d listed", found, len(listed))
	}
	if c := bom.Metadata.Component; c.Name != "agentry" || !strings.HasPrefix(c.Version, "v") {
		t.Errorf("the list is about %+v", c)
	}
}

func keys(of map[string]bool) (out []string) {
	for k := range of {
		out = append(out, k)
	}
	return out
}

func TestFormulaNamesTheArchive(t *testing.T) {
	formula := string(read(t, filepath.Join(made, "agentry.rb")))
	sums := string(read(t, filepath.Join(made, checksums)))
	sum, _, _ := strings.Cut(sums[strings.Index(sums, archiveName())-66:], " ")
	if !strings.Contains(formula, `sha256 "`+sum+`"`) || !strings.Contains(formula, "/"+archiveName()+`"`) ||
		strings.Contains(formula, "{{") {
		t.Errorf("checksum %s:\n%s", sum, formula)
	}
}
