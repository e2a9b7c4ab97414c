package main

import (
	"cmp"
	"debug/buildinfo"
	"io"
	"maps"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	cdx "github.com/CycloneDX/cyclonedx-go"
)

// writeBOM writes the list of modules that are linked into the programs of a product. It reads the lists that Go
// embeds in each program, and not go.mod.
func (r release) writeBOM(folder, name string, p product) error {
	bom := cdx.NewBOM()
	main := component(cdx.ComponentTypeApplication, "github.com/agentry-dev/agentry", r.version)
	main.Name, main.Description = p.name, p.says
	bom.Metadata = &cdx.Metadata{Timestamp: r.time.Format(time.RFC3339), Component: &main}
	linked := map[string]cdx.Component{}
	for _, program := range p.programs {
		info, err := buildinfo.ReadFile(filepath.Join(folder, program))
		if err != nil {
			return err
		}
		// The standard library has the version of Go.
		found := append([]*debug.Module{{Path: "std", Version: strings.TrimPrefix(info.GoVersion, "go")}}, info.Deps...)
		for _, m := range found {
			m = cmp.Or(m.Replace, m)
			c := component(cdx.ComponentTypeLibrary, m.Path, m.Version)
			linked[c.BOMRef] = c
		}
	}
	refs := slices.Sorted(maps.Keys(linked))
	components, dependencies := make([]cdx.Component, len(refs)),
		[]cdx.Dependency{{Ref: main.BOMRef, Dependencies: &refs}}
	for i, ref := range refs {
		components[i] = linked[ref]
	}
	bom.Components, bom.Dependencies = &components, &dependencies
	return r.write(name, func(w io.Writer) error {
		return cdx.NewBOMEncoder(w, cdx.BOMFileFormatJSON).SetPretty(true).Encode(bom)
	})
}

// component is a Go module, by its package URL.
func component(kind cdx.ComponentType, path, version string) cdx.Component {
	purl := "pkg:golang/" + path + "@" + strings.ReplaceAll(version, "+", "%2B")
	return cdx.Component{BOMRef: purl, Type: kind, Name: path, Version: version, PackageURL: purl}
}
