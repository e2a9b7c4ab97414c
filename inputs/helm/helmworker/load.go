package helmworker

import (
	"encoding/json"
	"errors"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
	"helm.sh/helm/v4/pkg/chart/loader/archive"
	chart "helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/chart/v2/loader"

	"github.com/agentry-dev/agentry/inputs/helm"
)

// metadataName is the file with a chart's metadata.
const metadataName = "Chart.yaml"

// load reads a chart's files.
func load(files []helm.File) (*chart.Chart, error) {
	buffered := make([]*archive.BufferedFile, 0, len(files))
	for _, f := range files {
		buffered = append(buffered, &archive.BufferedFile{Name: f.Name, Data: f.Data})
	}
	c, err := loader.LoadFiles(buffered)
	if err != nil {
		return nil, unloadable(files, err)
	}
	return c, nil
}

// unpacking matches Helm's error about a subchart, whose name is the first group.
var unpacking = regexp.MustCompile(`^error unpacking subchart (\S{1,200}) in .{0,200}?: `)

// yamlLine matches the line in an error about YAML.
var yamlLine = regexp.MustCompile(`yaml: line ([0-9]{1,9}):`)

// unloadable says which file keeps a chart from being loaded. It quotes only Chart.yaml, which has no secrets.
func unloadable(files []helm.File, err error) *helm.Failure {
	folder, text := "", err.Error()
	for m := unpacking.FindStringSubmatch(text); m != nil; m = unpacking.FindStringSubmatch(text) {
		folder, text = folder+"charts/"+m[1]+"/", strings.TrimPrefix(text, m[0])
	}
	what, _, _ := strings.Cut(text, ": ") // the rest can quote the file
	name, isFile := strings.CutPrefix(what, "cannot load ")
	if !isFile {
		name = metadataName
	}
	out := &helm.Failure{Template: folder + name, Reason: "the chart cannot be loaded: " + what}
	i := slices.IndexFunc(files, func(f helm.File) bool { return f.Name == out.Template })
	if i < 0 {
		i, files = 0, []helm.File{{}} // it is in an archive
	}
	field := ""
	if invalid, ok := errors.AsType[chart.ValidationError](err); ok {
		message := strings.TrimPrefix(string(invalid), "chart.metadata.")
		out.Reason = "the chart cannot be loaded: " + message
		if field, _, _ = strings.Cut(message, " "); strings.Contains(message, "dependenc") {
			field = "dependencies"
		}
	} else if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok && name == metadataName {
		field = wrong.Field
		out.Reason = "the chart cannot be loaded: " + field + " has a value of the wrong type"
	} else if m := yamlLine.FindStringSubmatch(text); m != nil {
		out.Line, _ = strconv.Atoi(m[1])
		out.Reason = "the chart cannot be loaded: " + name + " is not valid YAML"
		return out
	}
	out.Line = lineOf(files[i].Data, field)
	return out
}

// lineOf returns the line of a field of a YAML file, or of the top field that it is in, or 0.
func lineOf(text []byte, field string) int {
	top, _, _ := strings.Cut(field, ".")
	var document yaml.Node
	if yaml.Unmarshal(text, &document) != nil || len(document.Content) == 0 {
		return 0
	}
	fields := document.Content[0].Content
	for i := 0; i+1 < len(fields); i += 2 {
		if fields[i].Value == top {
			return fields[i].Line
		}
	}
	return 0
}
