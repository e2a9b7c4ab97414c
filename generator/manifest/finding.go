package manifest

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/agentry-dev/agentry/generator/diag"
)

// finding is a diagnostic about the object, before its position is looked up.
type finding struct {
	severity diag.Severity
	code     diag.Code
	path     string
	message  string
	hint     string
	// The position in the text that the field holds; zero if it is about the field.
	line, column int
}

// rank orders findings so that the limit cuts off what may be ignored: warnings, and before them unknown fields.
func (f finding) rank() int {
	switch {
	case f.severity != diag.Error:
		return 2
	case f.code == diag.UnknownField:
		return 1
	}
	return 0
}

// findings are the findings about one object.
type findings []finding

func (f *findings) fail(code diag.Code, path, message, hint string) {
	*f = append(*f, finding{severity: diag.Error, code: code, path: path, message: message, hint: hint})
}

// failInside reports an error in the text that a field holds.
func (f *findings) failInside(path string, line, column int, message, hint string) {
	f.fail(diag.InvalidField, path, message, hint)
	last := &(*f)[len(*f)-1]
	last.line, last.column = line, column
}

// unknownField reports a field that the object's kind does not have. It is written beside others in the object.
func (f *findings) unknownField(at place, path, name string, known []string) {
	hint := diag.DidYouMean(name, known)
	file, env := name+"File", name+"Env"
	if slices.Contains(known, file) && slices.Contains(known, env) {
		hint = fmt.Sprintf("credentials are not in this file: write %s or %s, which say where they are", file, env)
	}
	if meant, found := diag.Suggest(name, known); found && at.has(strings.TrimSuffix(path, name)+meant) {
		hint = meant + " is there as well: leave this one out"
	}
	if hint == "" && name != path {
		hint = diag.Fields(known)
	}
	f.fail(diag.UnknownField, path, unknownField, hint)
}

func (f *findings) warn(code diag.Code, path, message, hint string) {
	*f = append(*f, finding{severity: diag.Warning, code: code, path: path, message: message, hint: hint})
}

// failed reports whether an error was found.
func (f findings) failed() bool {
	return slices.ContainsFunc(f, func(f finding) bool { return f.severity == diag.Error })
}

// onlyUnknownFields reports whether all errors are about fields that the object's kind does not have.
func (f findings) onlyUnknownFields() bool {
	return !slices.ContainsFunc(f, func(f finding) bool {
		return f.severity == diag.Error && f.code != diag.UnknownField
	})
}

// diags converts the findings to diagnostics with positions.
func (f findings) diags(o *Object) diag.List {
	slices.SortStableFunc(f, func(a, b finding) int {
		return cmp.Or(cmp.Compare(a.rank(), b.rank()), cmp.Compare(a.path, b.path), cmp.Compare(a.message, b.message))
	})
	var list diag.List
	f = f.once(o)
	for i, one := range f {
		if i == MaxFindings {
			list = append(list, o.Diag(one.severity, one.code, "", "further findings are not shown"))
			break
		}
		d := o.Diag(one.severity, one.code, one.path, "%s", one.message)
		d.Hint = o.at.conceal("", one.hint)
		if one.line > 0 {
			d.Line, d.Column = o.ValuePosition(one.path, one.line, one.column)
		}
		list = append(list, d)
	}
	return list
}

// mistake is a finding by what it is about: a node, and the rest of a path that does not exist below it.
type mistake struct {
	node    *yaml.Node
	rest    string
	code    diag.Code
	message string
}

// once joins findings about what aliases repeat: one mistake is one finding, whose hint names the aliases.
func (f findings) once(o *Object) findings {
	if len(f) < 2 || !strings.Contains(o.at.text, "*") || !strings.Contains(o.at.text, "&") {
		return f
	}
	root := o.at.outer.root(o.at.text)
	if len(root.Content) == 0 {
		return f
	}
	_, object, _ := Walk(root.Content[0], o.at.prefix)
	type found struct {
		finding
		direct  bool         // not through an alias
		through []*yaml.Node // aliases
	}
	var list []*found
	known := map[mistake]*found{}
	for _, one := range f {
		node, rest, alias := walkAliases(object, one.path)
		at := mistake{node, rest, one.code, one.message}
		same := known[at]
		if same == nil {
			same = &found{finding: one, direct: alias == nil}
			known[at], list = same, append(list, same)
		} else if alias == nil {
			same.finding, same.direct = one, true
		}
		if alias != nil {
			same.through = append(same.through, alias)
		}
	}
	out := make(findings, len(list))
	for i, one := range list {
		if out[i] = one.finding; one.direct || len(one.through) > 1 {
			out[i].hint = joinHints(out[i].hint, o.at.alsoThrough(one.through))
		}
	}
	return out
}

// alsoThrough names aliases, and their lines if they are those of the file.
func (p place) alsoThrough(aliases []*yaml.Node) string {
	if len(aliases) == 0 {
		return ""
	}
	text := "also through *" + aliases[0].Value
	if p.origin != nil {
		return text
	}
	lines := make([]string, len(aliases))
	for i, a := range aliases {
		line, _ := p.inFile(a.Line, 0)
		lines[i] = strconv.Itoa(line)
	}
	slices.SortFunc(lines, func(a, b string) int { return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b)) })
	if lines = slices.Compact(lines); len(lines) == 1 {
		return text + " at line " + lines[0]
	}
	return text + " at lines " + strings.Join(lines, ", ")
}

func joinHints(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + "; " + b
}

// walkAliases is [Walk] that also returns the last alias on the way.
func walkAliases(node *yaml.Node, path string) (value *yaml.Node, rest string, alias *yaml.Node) {
	note := func() {
		if node.Kind == yaml.AliasNode {
			alias, node = node, resolved(node)
		}
	}
	note()
	for path != "" {
		_, next, rest, ok := step(node, path)
		if !ok {
			break
		}
		node, path = next, rest
		note()
	}
	return node, path, alias
}
