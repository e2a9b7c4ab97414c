package pipelinefile

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"path"
	"slices"
	"strings"
	texttemplate "text/template"
	"text/template/parse"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/internal/lazyregexp"
)

// maxFieldBytes limits the text that a template in a field gives.
const maxFieldBytes = 4096

// errTooLong is the error of a template whose text exceeds maxFieldBytes.
var errTooLong = fmt.Errorf("the text is longer than %d bytes", maxFieldBytes)

// fill returns the fields of the pipeline of one folder: it executes the templates in all texts, except those that a
// pass executes.
func fill(fields map[string]any, folder string) (filled map[string]any, found diag.List) {
	data := map[string]any{"path": map[string]any{
		"path":     folder,
		"basename": path.Base(folder),
		"segments": strings.Split(folder, "/"),
	}}
	out := replaced("", fields, func(at, text string) string {
		if !usesFolder(text) || hasOwnTemplate(at) {
			return text
		}
		result, err := execute(text, data)
		if err != nil {
			found = append(found, diag.Diagnostic{
				Path: at, Message: err.Error(),
				Hint: "forEach knows {{ .path.path }}, {{ .path.basename }} and {{ index .path.segments 0 }}",
			})
		}
		return result
	})
	return out.(map[string]any), found
}

// hasOwnTemplate reports whether a field is not filled in for a folder: forEach itself, and the templates that a
// pass executes.
func hasOwnTemplate(at string) bool {
	return at == "spec.forEach" || at == "spec.output.commit.message" || at == "spec.output.promotion.title"
}

// usesFolder reports whether a text is a template.
func usesFolder(text string) bool { return strings.Contains(text, "{{") }

// execute executes a template.
func execute(text string, data map[string]any) (string, error) {
	t, err := parseTemplate(text)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	if err := t.Execute(&boundedWriter{out: &b, left: maxFieldBytes}, data); err != nil {
		return "", cause(err)
	}
	return b.String(), nil
}

// replaced returns a copy of a value of JSON with other texts. The keys of mappings stay.
func replaced(at string, value any, by func(at, text string) string) any {
	switch value := value.(type) {
	case string:
		return by(at, value)
	case []any:
		out := make([]any, len(value))
		for i, item := range value {
			out[i] = replaced(fmt.Sprintf("%s[%d]", at, i), item, by)
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(value))
		for _, key := range slices.Sorted(maps.Keys(value)) {
			out[key] = replaced(strings.TrimPrefix(at+"."+key, "."), value[key], by)
		}
		return out
	}
	return value
}

// parsePosition matches the name and line that text/template puts before an error.
var parsePosition = lazyregexp.New(`^template: :\d+:\s*`)

// parseTemplate parses the template of a field. It allows only parts of the folder's path and functions on
// them, so that fields stay readable.
func parseTemplate(text string) (*texttemplate.Template, error) {
	t, err := texttemplate.New("").Option("missingkey=error").Funcs(folderFunctions()).Parse(text)
	if err != nil {
		return nil, errors.New(parsePosition.ReplaceAllString(err.Error(), ""))
	}
	if len(t.Templates()) > 1 || t.Tree == nil {
		return nil, errors.New("templates within templates are not known here")
	}
	for _, node := range t.Root.Nodes {
		if err := checkNode(node); err != nil {
			return nil, err
		}
	}
	return t, nil
}

func checkNode(node parse.Node) error {
	switch n := node.(type) {
	case *parse.TextNode, *parse.CommentNode:
		return nil
	case *parse.ActionNode:
		return checkPipe(n.Pipe)
	}
	return fmt.Errorf("%s is not known here", node)
}

func checkPipe(pipe *parse.PipeNode) error {
	if len(pipe.Decl) > 0 {
		return errors.New("variables are not known here")
	}
	for _, command := range pipe.Cmds {
		function, _ := command.Args[0].(*parse.IdentifierNode)
		for i, arg := range command.Args {
			if err := checkArgument(arg, function != nil && function.Ident == "index" && i == 1); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkArgument checks what a template names. The segments of a path are a list, so they need an index.
func checkArgument(arg parse.Node, indexed bool) error {
	switch n := arg.(type) {
	case *parse.StringNode, *parse.NumberNode:
		return nil
	case *parse.PipeNode:
		return checkPipe(n)
	case *parse.IdentifierNode:
		if folderFunctions()[n.Ident] != nil {
			return nil
		}
	case *parse.FieldNode:
		name := strings.Join(n.Ident, ".")
		if name == "path.path" || name == "path.basename" || name == "path.segments" && indexed {
			return nil
		}
	}
	return fmt.Errorf("%s is not known here", arg)
}

// folderFunctions returns the functions that change the text of a path. Each takes the text last, so that it
// can be piped in.
func folderFunctions() texttemplate.FuncMap {
	return texttemplate.FuncMap{
		"index":      pick,
		"lower":      strings.ToLower,
		"trimPrefix": func(prefix, text string) string { return strings.TrimPrefix(text, prefix) },
		"trimSuffix": func(suffix, text string) string { return strings.TrimSuffix(text, suffix) },
		"replace": func(old, new, text string) (string, error) {
			if grown := len(text) + (strings.Count(text, old))*max(0, len(new)-len(old)); grown > maxFieldBytes {
				return "", errTooLong
			}
			return strings.ReplaceAll(text, old, new), nil
		},
	}
}

// pick returns one segment of a folder's path.
func pick(segments []string, i int) (string, error) {
	if i < 0 || i >= len(segments) {
		return "", fmt.Errorf("the folder's path has no part %d: they are counted from 0, and it has %d", i,
			len(segments))
	}
	return segments[i], nil
}

// cause returns the innermost error. The outer ones of text/template name a template that has no name.
func cause(err error) error {
	for {
		inner := errors.Unwrap(err)
		if inner == nil {
			return err
		}
		err = inner
	}
}

// boundedWriter fails if more bytes are written than are left.
type boundedWriter struct {
	out  io.Writer
	left int
}

// Write implements io.Writer.
func (w *boundedWriter) Write(p []byte) (int, error) {
	if w.left -= len(p); w.left < 0 {
		return 0, errTooLong
	}
	return w.out.Write(p)
}

// sampleFolders returns two folders that match a pattern and differ in every variable part. Templates are
// checked with them before any folder is known.
func sampleFolders(pattern string) []string {
	segments := strings.Split(pattern, "/")
	var out []string
	for _, name := range []string{"sample-a", "sample-b"} {
		filled := slices.Clone(segments)
		for i, segment := range filled {
			if strings.ContainsAny(segment, "*?[\\") {
				filled[i] = name
			}
		}
		out = append(out, strings.Join(filled, "/"))
	}
	return out
}
