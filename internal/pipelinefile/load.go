package pipelinefile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/gitsync/pipeline"
)

// MaxFileBytes limits a pipeline file.
const MaxFileBytes = 1 << 20

// Pipeline is a pipeline with its position in a file. A pipeline with forEach is a template: [Pipeline.Expand]
// returns its pipelines.
type Pipeline struct {
	pipeline.Pipeline

	file   string
	nodes  positions
	folder string    // the folder of forEach that it was made for
	each   *template // nil without forEach
	apps   *apps     // the token sources that it uses
}

// Parse parses all documents of a pipeline file. The name is used in diagnostics, and its folder for relative
// file names. If there is an error, it returns no pipelines.
func Parse(file string, data []byte) ([]*Pipeline, diag.List) {
	return parseFile(file, data, newApps())
}

func parseFile(file string, data []byte, apps *apps) ([]*Pipeline, diag.List) {
	if len(data) > MaxFileBytes {
		return nil, diag.List{invalid(file, nil, fmt.Sprintf("the file is larger than %d bytes", MaxFileBytes))}
	}
	var fleet []*Pipeline
	var found diag.List
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	for {
		var document yaml.Node
		err := decoder.Decode(&document)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			found = append(found, syntaxError(file, err))
			break
		}
		if isEmpty(&document) {
			continue
		}
		p, problems := parseDocument(file, document.Content[0], apps)
		fleet, found = append(fleet, p), append(found, problems...)
	}
	if len(fleet) == 0 && len(found) == 0 {
		d := invalid(file, nil, "the file holds no pipeline")
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

// isEmpty reports whether a document has no content, or only comments.
func isEmpty(document *yaml.Node) bool {
	return len(document.Content) == 0 || document.Content[0].ShortTag() == "!!null"
}

func parseDocument(file string, root *yaml.Node, apps *apps) (*Pipeline, diag.List) {
	p := &Pipeline{file: file, apps: apps}
	if other := otherObject(root); other != nil {
		d := invalid(file, other, fmt.Sprintf("this is a %s, not a Pipeline", other.Value))
		d.Hint = "name a pipeline file; a pipeline reads other objects from its sources"
		return p, diag.List{d}
	}
	d := newDecoder(file)
	d.decode(root, "", &p.Pipeline)
	p.nodes = d.nodes
	if d.found.HasErrors() {
		return p, d.found // Validate would report fields that could not be decoded as missing
	}
	if p.Spec.ForEach != "" {
		return p, p.prepareTemplate()
	}
	return p, p.check()
}

// kindPattern matches the name of a kind.
var kindPattern = regexp.MustCompile(`^[A-Za-z]{1,63}$`)

// otherObject returns the kind of a document that is an object of another API group than that of pipelines, or nil.
func otherObject(root *yaml.Node) *yaml.Node {
	var kind *yaml.Node
	isOther := false
	for i := 0; root.Kind == yaml.MappingNode && i+1 < len(root.Content); i += 2 {
		switch value := root.Content[i+1]; root.Content[i].Value {
		case "kind":
			kind = value
		case "apiVersion":
			isOther = !strings.HasPrefix(value.Value, "agentry.dev/")
		}
	}
	if kind == nil || !kindPattern.MatchString(kind.Value) || kind.Value == pipeline.Kind || !isOther {
		return nil
	}
	return kind
}

// check sets defaults and returns the problems of the pipeline.
func (p *Pipeline) check() diag.List {
	p.Default()
	p.Places = p.places()
	return p.diags(p.Validate())
}

// places returns where the settings of workloads, the patches and the images are.
func (p *Pipeline) places() map[string]pipeline.Place {
	var out map[string]pipeline.Place
	for list, n := range map[string]int{"spec.workloads": len(p.Spec.Workloads), "spec.patches": len(p.Spec.Patches),
		"spec.images": len(p.Spec.Images)} {
		for i := range n {
			if out == nil {
				out = map[string]pipeline.Place{}
			}
			field := fmt.Sprintf("%s[%d]", list, i)
			at := p.nodes.nearest(field)
			out[field] = pipeline.Place{File: p.file, Line: at.Line, Column: at.Column}
		}
	}
	return out
}

func (p *Pipeline) diags(errs []pipeline.FieldError) diag.List {
	var found diag.List
	for _, e := range errs {
		found = append(found, p.Diag(e))
	}
	return found
}

// Origin returns the position of the pipeline, file:line, and the folder that forEach made it for.
func (p *Pipeline) Origin() string {
	origin := p.file
	if at := p.nodes.nearest(""); at != nil {
		origin = fmt.Sprintf("%s:%d", p.file, at.Line)
	}
	if p.folder != "" {
		origin += " (" + p.folder + ")"
	}
	return origin
}

// Diag returns a diagnostic at the field with the error or, if the field is absent, where to add it.
func (p *Pipeline) Diag(e pipeline.FieldError) diag.Diagnostic {
	message := e.Error()
	if p.folder != "" {
		message += fmt.Sprintf(" (folder %s of spec.forEach)", p.folder)
	}
	d := invalid(p.file, p.nodes.nearest(e.Path), message)
	d.Code, d.Hint = e.Code, e.Hint
	d.Object = diag.Object{APIVersion: p.APIVersion, Kind: p.Kind, Name: p.Metadata.Name}
	return d
}

// resolve returns a file name of the pipeline, relative to the pipeline file, as a path that can be opened.
func (p *Pipeline) resolve(name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(filepath.Dir(p.file), name)
}

var (
	// yamlLine finds the position in the YAML library's messages, which is not available otherwise.
	yamlLine = regexp.MustCompile(`^yaml: line (\d+): (.*)$`)
	// yamlAnchor finds the name of an anchor in them, which may be a password that begins with an asterisk.
	yamlAnchor = regexp.MustCompile(`anchor '.*' `)
)

func syntaxError(file string, err error) diag.Diagnostic {
	d := invalid(file, nil, yamlAnchor.ReplaceAllString(err.Error(), "anchor "))
	if m := yamlLine.FindStringSubmatch(d.Message); m != nil {
		d.Line, _ = strconv.Atoi(m[1])
		d.Message = m[2]
	}
	d.Message, d.Hint = diag.YAMLProblem(d.Message)
	return d
}

func invalid(file string, at *yaml.Node, message string) diag.Diagnostic {
	d := diag.Diagnostic{Severity: diag.Error, Code: diag.PipelineInvalid, File: file, Message: message}
	if at != nil {
		d.Line, d.Column = at.Line, at.Column
	}
	return d
}
