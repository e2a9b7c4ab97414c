// Command release makes the files of a release: for each platform an archive of the programs and a list of the modules
// linked into them (an SBOM in CycloneDX), packages for Debian and for Red Hat's family, a Homebrew formula, and the
// checksums of all files.
//
//	go -C internal/tools/release run . -root ../../.. -platforms linux/amd64,linux/arm64
//
// The version is the commit's, as Go determines it: a tag, or a pseudo-version. Times are the commit's, or
// SOURCE_DATE_EPOCH. The same commit and the same Go give the same bytes, on any machine. Uncommitted changes are left
// out.
//
// It is a separate module, because the library that makes packages brings 40 modules that the programs do not need.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"time"
)

// platforms are the platforms of a release.
const platforms = "linux/amd64,linux/arm64,darwin/amd64,darwin/arm64"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	root := flag.String("root", ".", "the `folder` of the repository")
	list := flag.String("platforms", platforms, "`OS/ARCH,...` to build for")
	out := flag.String("out", "bin", "the `folder` that gets programs/ and release/, within root")
	flag.Parse()
	if err := run(ctx, *root, filepath.Join(*root, *out), strings.Split(*list, ",")); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

// release has what all files of a release have in common.
type release struct {
	root    string
	version string    // with a v, as Go writes it
	time    time.Time // of every file
	out     string    // the folder of the files
}

// run makes a release in the folder release/ of out, and removes files of an earlier release.
func run(ctx context.Context, root, out string, list []string) error {
	root, done, err := clone(ctx, root)
	if err != nil {
		return err
	}
	defer done()
	at, err := commitTime(ctx, root)
	if err != nil {
		return err
	}
	r := release{root: root, time: at, out: filepath.Join(out, "release")}
	if err := os.RemoveAll(r.out); err != nil {
		return err
	}
	if err := os.MkdirAll(r.out, 0o755); err != nil {
		return err
	}
	for _, name := range list {
		p, err := parsePlatform(name)
		if err != nil {
			return err
		}
		folder := filepath.Join(out, "programs", p.String())
		if err := build(ctx, root, folder, p); err != nil {
			return err
		}
		if r.version, err = versionOf(filepath.Join(folder, "agentry")); err != nil {
			return err
		}
		if err := writeManual(root, folder, r.version, r.time); err != nil {
			return err
		}
		if err := r.pack(folder, p); err != nil {
			return err
		}
	}
	if err := r.writeFormula(); err != nil {
		return err
	}
	return r.writeChecksums()
}

// pack makes all files for one platform, from the programs in a folder.
func (r release) pack(folder string, p platform) error {
	for _, product := range products() {
		if !product.isFor(p) {
			continue
		}
		name := product.name + "_" + p.String()
		if err := r.writeArchive(folder, name+".tar.gz", product); err != nil {
			return err
		}
		if err := r.writeBOM(folder, name+".cdx.json", product); err != nil {
			return err
		}
		if !product.packaged || p.os != "linux" {
			continue
		}
		if err := r.writePackages(folder, product, p); err != nil {
			return err
		}
	}
	return nil
}
