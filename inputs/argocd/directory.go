package argocd

import (
	"bytes"
	"errors"
	"io/fs"
	"path"
	"regexp"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/inputs/kustomize"
)

// skipMarker in a file tells Argo CD not to read it.
const skipMarker = "+argocd:skip-file-rendering"

// directory reads the plain manifests of a folder.
func (b *build) directory(s *Source, folder string) ([]manifest.Built, error) {
	of := DirectorySource{}
	if s.Directory != nil {
		of = *s.Directory
	}
	names, err := b.manifests(of, folder)
	if err != nil {
		return nil, readProblem(s.Field+".path", err)
	}
	var out []manifest.Built
	for _, name := range names {
		text, err := b.files.ReadFile(name)
		switch {
		case errors.Is(err, fs.ErrNotExist): // a link to nothing
			continue
		case err != nil:
			return nil, readProblem(s.Field+".path", err)
		case bytes.Contains(text, []byte(skipMarker)):
			continue
		case strings.HasSuffix(name, ".jsonnet"):
			return nil, refused(s.Field+".path", "commit its output, or exclude it with directory.exclude",
				"%s is Jsonnet, which is not evaluated", name)
		}
		out = append(out, documents(text, name, kustomize.InFile(b.opts.Open, name))...)
	}
	return out, nil
}

// patterns returns the names of the fields that leave out files.
func (d *DirectorySource) patterns() (out []string) {
	if d.Include != "" {
		out = append(out, "include")
	}
	if d.Exclude != "" {
		out = append(out, "exclude")
	}
	return out
}

// manifests lists the files of a folder that can hold manifests.
func (b *build) manifests(of DirectorySource, folder string) ([]string, error) {
	include, exclude := pattern{true, true}.compile(of.Include), pattern{true, true}.compile(of.Exclude)
	all, err := filesBelow(repository{b.files, "."}, folder, 0)
	if !of.Recurse {
		all, err = filesIn(repository{b.files, "."}, folder)
	}
	var out []string
	for _, name := range all {
		below := strings.TrimPrefix(strings.TrimPrefix(name, folder), "/")
		switch {
		case !strings.Contains(".yaml .yml .json .jsonnet", path.Ext(name)) || path.Ext(name) == "":
		case of.Include != "" && (include == nil || !include.MatchString(below)):
		case exclude != nil && exclude.MatchString(below) && of.Exclude != "":
		default:
			out = append(out, name)
		}
	}
	return out, err
}

// documents splits a file at its document separators. Each document starts with its separator.
func documents(text []byte, name string, origin manifest.Origin) []manifest.Built {
	var out []manifest.Built
	for begin := 0; begin < len(text); {
		end := nextDocument(text, begin)
		if doc := text[begin:end]; len(bytes.TrimSpace(doc)) > 0 {
			out = append(out, manifest.Built{Text: doc, Origin: origin, Authors: []manifest.Author{{File: name}},
				Leads: isBrokenResource(doc)})
		}
		begin = end
	}
	return out
}

// nextDocument returns the offset of the first document separator after the line at begin, or the end of the text.
func nextDocument(text []byte, begin int) int {
	for at := begin; ; {
		found := bytes.Index(text[at:], []byte("\n---"))
		if found < 0 {
			return len(text)
		}
		at += found + 1
		if after := text[at+len("---"):]; len(after) == 0 || bytes.IndexByte([]byte(" \t\r\n"), after[0]) >= 0 {
			return at
		}
	}
}

// isBrokenResource reports whether a document is an Application or ApplicationSet in invalid YAML. What it would lead
// to must not count as deleted.
func isBrokenResource(doc []byte) bool {
	isOther := bytes.Contains(doc, []byte("apiVersion")) && !bytes.Contains(doc, []byte(APIVersion))
	if isOther || !resourceKind.Match(doc) {
		return false
	}
	var object map[string]any
	return yaml.Unmarshal(doc, &object) != nil
}

// resourceKind finds the kind Application or ApplicationSet in a text that may be invalid YAML.
var resourceKind = regexp.MustCompile(`\bkind["']?[ \t]*:[ \t]*["']?Application(?:Set)?\b`)

// isObject reports whether a document is an object, or may be one that cannot be read.
func isObject(doc manifest.Built) bool {
	var object map[string]any
	return yaml.Unmarshal(doc.Text, &object) != nil || object["kind"] != nil || object["apiVersion"] != nil
}
