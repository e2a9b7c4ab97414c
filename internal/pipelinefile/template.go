package pipelinefile

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	texttemplate "text/template"
	"text/template/parse"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/gitsync/pipeline"
)

// maxFieldBytes bounds what a template in a field may become.
const maxFieldBytes = 4096

// errTooLong is what a template gives that becomes longer.
var errTooLong = fmt.Errorf("the text is longer than %d bytes", maxFieldBytes)

// fill makes the pipeline of one folder: the templates in all its fields are executed, but
// for those that a pass executes. Defaults are not set yet, as some follow from other fields.
func fill(from pipeline.Pipeline, folder string) (pipeline.Pipeline, []pipeline.FieldError) {
	p, err := deepCopy(from)
	if err != nil {
		return p, []pipeline.FieldError{{Path: "spec.forEach", Code: diag.PipelineInvalid, Message: err.Error()}}
	}
	data := map[string]any{"path": map[string]any{
		"path":     folder,
		"basename": path.Base(folder),
		"segments": strings.Split(folder, "/"),
	}}
	var found []pipeline.FieldError
	eachString("", reflect.ValueOf(&p).Elem(), func(at, text string) string {
		if !usesFolder(text) || hasOwnTemplate(at) {
			return text
		}
		filled, err := execute(text, data)
		if err != nil {
			found = append(found, pipeline.FieldError{
				Path: at, Code: diag.PipelineInvalid, Message: err.Error(),
				Hint: "forEach knows {{ .path.path }}, {{ .path.basename }} and {{ index .path.segments 0 }}",
			})
		}
		return filled
	})
	return p, found
}

// deepCopy copies a pipeline as its file would be read again.
func deepCopy(from pipeline.Pipeline) (to pipeline.Pipeline, err error) {
	text, err := json.Marshal(from)
	if err == nil {
		err = json.Unmarshal(text, &to)
	}
	return to, err
}

// hasOwnTemplate reports whether a field is a template that is executed later, or not at all.
func hasOwnTemplate(at string) bool {
	return at == "spec.forEach" || at == "spec.output.commit.message" || at == "spec.output.promotion.title"
}

// usesFolder reports whether a text is a template.
func usesFolder(text string) bool { return strings.Contains(text, "{{") }

// execute fills in a template.
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

// visitStrings shows all strings of a value, which is given by pointer, with their paths.
func visitStrings(at string, value any, visit func(at, text string)) {
	eachString(at, reflect.ValueOf(value).Elem(), func(at, text string) string {
		visit(at, text)
		return text
	})
}

// eachString replaces every string of a value, but for the keys of maps.
func eachString(at string, v reflect.Value, replace func(at, text string) string) {
	switch v.Kind() {
	case reflect.String:
		v.SetString(replace(at, v.String()))
	case reflect.Pointer:
		if !v.IsNil() {
			eachString(at, v.Elem(), replace)
		}
	case reflect.Struct:
		known := fieldsOf(v.Type())
		for _, name := range known.names {
			if field := v.FieldByIndex(known.index[name]); field.CanSet() {
				eachString(join(at, name), field, replace)
			}
		}
	case reflect.Slice:
		for i := range v.Len() {
			eachString(at+"["+strconv.Itoa(i)+"]", v.Index(i), replace)
		}
	case reflect.Map:
		for _, key := range v.MapKeys() {
			value := reflect.New(v.Type().Elem()).Elem()
			value.Set(v.MapIndex(key))
			eachString(at+"["+key.String()+"]", value, replace)
			v.SetMapIndex(key, value)
		}
	case reflect.Interface:
		if text, ok := v.Interface().(string); ok {
			v.Set(reflect.ValueOf(replace(at, text)))
		}
	}
}

// parsePosition is what text/template puts before what is wrong: a name and a line.
var parsePosition = regexp.MustCompile(`^template: :\d+:\s*`)

// parseTemplate parses the template of a field strictly: it may only insert parts of the
// folder's path. What the language has besides would make a field unreadable.
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

// checkArgument checks what a template names. The segments of a path are a list, which can
// only be picked from.
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

// folderFunctions change the text of a path. All take it last, so that they can be piped to.
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

// pick is one part of a folder's path.
func pick(segments []string, i int) (string, error) {
	if i < 0 || i >= len(segments) {
		return "", fmt.Errorf("the folder's path has no part %d: they are counted from 0, and it has %d", i, len(segments))
	}
	return segments[i], nil
}

// cause is the innermost error: the wrapping of text/template speaks of templates without a
// name.
func cause(err error) error {
	for {
		inner := errors.Unwrap(err)
		if inner == nil {
			return err
		}
		err = inner
	}
}

// boundedWriter fails once more than left bytes were written.
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

// sampleFolders are two folders that a pattern would match, different in every part that a
// pattern leaves open. Templates are tried on them before any folder is known.
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
