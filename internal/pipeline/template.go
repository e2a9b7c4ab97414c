package pipeline

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"text/template"
	"text/template/parse"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/gitsync"
)

// maxFieldBytes bounds what a template in a field may become.
const maxFieldBytes = 4096

// errTooLong is what a template gives that becomes longer.
var errTooLong = fmt.Errorf("the text is longer than %d bytes", maxFieldBytes)

// fill makes the pipeline of one folder: the templates in all its fields are executed, but
// for those that a pass executes. Defaults are not set yet, as some follow from other fields.
func fill(from gitsync.Pipeline, folder string) (gitsync.Pipeline, []gitsync.FieldError) {
	p, err := deepCopy(from)
	if err != nil {
		return p, []gitsync.FieldError{{Path: "spec.forEach", Code: diag.PipelineInvalid, Message: err.Error()}}
	}
	f := filler{data: map[string]any{"path": map[string]any{
		"path":     folder,
		"basename": path.Base(folder),
		"segments": strings.Split(folder, "/"),
	}}}
	f.walk("", reflect.ValueOf(&p).Elem())
	return p, f.found
}

// deepCopy copies a pipeline as its file would be read again.
func deepCopy(from gitsync.Pipeline) (to gitsync.Pipeline, err error) {
	text, err := json.Marshal(from)
	if err == nil {
		err = json.Unmarshal(text, &to)
	}
	return to, err
}

// filler executes the templates in the strings of a pipeline.
type filler struct {
	data  map[string]any
	found []gitsync.FieldError
}

func (f *filler) walk(at string, v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		v.SetString(f.text(at, v.String()))
	case reflect.Pointer:
		if !v.IsNil() {
			f.walk(at, v.Elem())
		}
	case reflect.Struct:
		known := fieldsOf(v.Type())
		for _, name := range known.names {
			if field := v.FieldByIndex(known.index[name]); field.CanSet() {
				f.walk(join(at, name), field)
			}
		}
	case reflect.Slice:
		for i := range v.Len() {
			f.walk(at+"["+strconv.Itoa(i)+"]", v.Index(i))
		}
	case reflect.Map:
		f.walkMap(at, v)
	case reflect.Interface:
		if text, ok := v.Interface().(string); ok {
			v.Set(reflect.ValueOf(f.text(at, text)))
		}
	}
}

// walkMap fills in the values of a map; its keys stay as they are.
func (f *filler) walkMap(at string, v reflect.Value) {
	for _, key := range v.MapKeys() {
		value := reflect.New(v.Type().Elem()).Elem()
		value.Set(v.MapIndex(key))
		f.walk(at+"["+key.String()+"]", value)
		v.SetMapIndex(key, value)
	}
}

func (f *filler) text(at, text string) string {
	if !strings.Contains(text, "{{") || hasOwnTemplate(at) {
		return text
	}
	t, err := parseTemplate(text)
	var b strings.Builder
	if err == nil {
		err = t.Execute(&boundedWriter{out: &b, left: maxFieldBytes}, f.data)
	}
	if err != nil {
		f.found = append(f.found, gitsync.FieldError{
			Path: at, Code: diag.PipelineInvalid, Message: cause(err).Error(),
			Hint: "forEach knows {{ .path.path }}, {{ .path.basename }} and {{ index .path.segments 0 }}",
		})
		return ""
	}
	return b.String()
}

// hasOwnTemplate reports whether a field is a template that is executed later, or not at all.
func hasOwnTemplate(at string) bool {
	return at == "spec.forEach" || at == "spec.output.commit.message" || at == "spec.output.promotion.title"
}

// usesFolder reports whether a text differs from folder to folder.
func usesFolder(text string) bool { return strings.Contains(text, "{{") }

// parseTemplate parses the template of a field strictly: it may only insert parts of the
// folder's path. What the language has besides would make a field unreadable.
func parseTemplate(text string) (*template.Template, error) {
	t, err := template.New("").Option("missingkey=error").Funcs(folderFunctions()).Parse(text)
	if err != nil {
		return nil, errors.New(strings.TrimPrefix(err.Error(), "template: :"))
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
		if n.Ident == "index" || folderFunctions()[n.Ident] != nil {
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
func folderFunctions() template.FuncMap {
	return template.FuncMap{
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
