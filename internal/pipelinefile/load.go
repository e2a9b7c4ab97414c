package pipelinefile

import (
	"cmp"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/gitsync/pipeline"
	"github.com/agentry-dev/agentry/internal/lazyregexp"
)

// MaxFileBytes limits a pipeline file.
const MaxFileBytes = 1 << 20

// Pipeline is a pipeline with its position in a file. A pipeline with forEach is a template: [Pipeline.Expand]
// returns its pipelines.
type Pipeline struct {
	pipeline.Pipeline

	file    string
	written manifest.Document
	folder  string    // the folder of forEach that it was made for
	each    *template // nil without forEach
	apps    *apps     // the token sources that it uses
}

// Parse parses all documents of a pipeline file. The name is used in diagnostics, and its folder for relative
// file names. Each of set changes a field of all pipelines: see [Set]. If there is an error, it returns no pipelines.
func Parse(file string, data []byte, set ...string) ([]*Pipeline, diag.List) {
	return parseFile(file, data, newApps(), set...)
}

// Make returns the pipeline with a specification that is in no file, with changes by set: see [Set].
func Make(spec map[string]any, set ...string) (*Pipeline, diag.List) {
	const file = "the command line"
	documents, found := manifest.Documents(manifest.File{Path: file, Data: []byte("{}")})
	if len(found) > 0 {
		return nil, found
	}
	fields, err := Set(map[string]any{"apiVersion": pipeline.APIVersion, "kind": pipeline.Kind,
		"metadata": map[string]any{"name": "default"}, "spec": spec}, set)
	if err != nil {
		return nil, diag.List{invalid(file, err.Error())}
	}
	p := &Pipeline{file: file, written: documents[0].With(fields), apps: newApps()}
	return p, p.read()
}

func parseFile(file string, data []byte, apps *apps, set ...string) ([]*Pipeline, diag.List) {
	if len(data) > MaxFileBytes {
		return nil, diag.List{invalid(file, fmt.Sprintf("the file is larger than %d bytes", MaxFileBytes))}
	}
	documents, found := manifest.Documents(manifest.File{Path: file, Data: data})
	for i := range found {
		found[i].Code = diag.PipelineInvalid // whatever keeps a manifest from being read
	}
	var fleet []*Pipeline
	for _, d := range documents {
		fields, err := Set(d.Fields, set)
		if err != nil {
			return nil, diag.List{invalid(file, err.Error())}
		}
		p := &Pipeline{file: file, written: d.With(fields), apps: apps}
		fleet, found = append(fleet, p), append(found, p.read()...)
	}
	if len(fleet) == 0 && len(found) == 0 {
		d := invalid(file, "the file holds no pipeline")
		d.Hint = "agentry init writes one"
		found = append(found, d)
	}
	if !found.HasErrors() {
		found = append(found, fleetDiags(fleet, false)...)
	}
	found.Sort()
	if found.HasErrors() {
		return nil, found
	}
	return fleet, found
}

// kindPattern matches the name of a kind.
var kindPattern = lazyregexp.New(`^[A-Za-z]{1,63}$`)

// read reads the pipeline, or the template, that is written.
func (p *Pipeline) read() diag.List {
	d := p.written
	if kindPattern.MatchString(d.Kind) && d.Kind != pipeline.Kind && !strings.HasPrefix(d.APIVersion, "agentry.dev/") {
		other := p.Place(diag.Diagnostic{Message: fmt.Sprintf("this is a %s, not a Pipeline", d.Kind),
			Hint: "name a pipeline file; a pipeline reads other objects from its sources"})
		other.Line, other.Column = d.Position("kind")
		return diag.List{other}
	}
	if pattern, _ := d.Field("spec.forEach").(string); pattern != "" {
		return p.prepareTemplate(pattern)
	}
	found := p.Read(d)
	for i := range found {
		found[i].Message += p.ofFolder()
	}
	return found
}

func (p *Pipeline) placed(list diag.List) diag.List {
	var out diag.List
	for _, d := range list {
		out = append(out, p.Place(d))
	}
	return out
}

// File returns the name of the file that the pipeline is in.
func (p *Pipeline) File() string { return p.file }

// Origin returns the position of the pipeline, file:line, and the folder that forEach made it for.
func (p *Pipeline) Origin() string {
	line, _ := p.written.Position("")
	origin := fmt.Sprintf("%s:%d", p.file, line)
	if p.folder != "" {
		origin += " (" + p.folder + ")"
	}
	return origin
}

// Place returns a diagnostic of the pipeline with its position: the field's or, if the field is absent, its parent's.
// It is an error in the pipeline unless it says otherwise.
func (p *Pipeline) Place(d diag.Diagnostic) diag.Diagnostic {
	d.Severity, d.Code = cmp.Or(d.Severity, diag.Error), cmp.Or(d.Code, diag.PipelineInvalid)
	d.Message += p.ofFolder()
	return p.written.Place(d)
}

// ofFolder ends the messages about a pipeline that was made for a folder.
func (p *Pipeline) ofFolder() string {
	if p.folder == "" {
		return ""
	}
	return fmt.Sprintf(" (folder %s of spec.forEach)", p.folder)
}

// resolve returns a file name of the pipeline, relative to the pipeline file, as a path that can be opened.
func (p *Pipeline) resolve(name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(filepath.Dir(p.file), name)
}

// invalid returns the error about a file as a whole.
func invalid(file, message string) diag.Diagnostic {
	return diag.Diagnostic{Severity: diag.Error, Code: diag.PipelineInvalid, File: file, Message: message}
}
