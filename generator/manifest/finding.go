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

// findings are the diagnostics about one object, before their positions are looked up.
type findings diag.List

// rank orders diagnostics so that the limit cuts off what may be ignored: warnings, and before them unknown fields.
func rank(d diag.Diagnostic) int {
	switch {
	case d.Severity != diag.Error:
		return 2
	case d.Code == diag.UnknownField:
		return 1
	}
	return 0
}

func (f *findings) fail(code diag.Code, path, message, hint string) {
	*f = append(*f, code.At(path, "%s", message).As(diag.Error).WithHint(hint))
}

// fields knows the fields of an object as they are written.
type fields interface {
	// has reports whether the object is written with a field at path.
	has(path string) bool
}

// unknownField reports a field that the object's kind does not have. It is written beside others in the object.
func (f *findings) unknownField(at fields, path, name string, known []string) {
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

// withoutUnknownFields returns the other findings. A document without metadata is most likely something else than an
// object of its kind: that it lacks a name says enough.
func (f findings) withoutUnknownFields() findings {
	return slices.DeleteFunc(f, func(d diag.Diagnostic) bool { return d.Code == diag.UnknownField })
}

func (f *findings) warn(code diag.Code, path, message, hint string) {
	*f = append(*f, code.At(path, "%s", message).As(diag.Warning).WithHint(hint))
}

// failed reports whether an error was found.
func (f findings) failed() bool { return diag.List(f).HasErrors() }

// onlyUnknownFields reports whether all errors are about fields that the object's kind does not have.
func (f findings) onlyUnknownFields() bool {
	return !slices.ContainsFunc(f, func(d diag.Diagnostic) bool { return rank(d) == 0 })
}

// placed returns the findings with their positions.
func (f findings) placed(o *Object) diag.List {
	slices.SortStableFunc(f, func(a, b diag.Diagnostic) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(a.Path, b.Path), cmp.Compare(a.Message, b.Message))
	})
	var list diag.List
	for i, d := range f.once(o) {
		if i == MaxFindings {
			d = d.Code.At("", "further findings are not shown").As(d.Severity)
		}
		if list = append(list, o.Place(d)); i == MaxFindings {
			break
		}
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
	at := o.place()
	if len(f) < 2 || !at.mayHold("*") || !at.mayHold("&") {
		return f
	}
	_, object, found := at.find("")
	if !found {
		return f
	}
	type joined struct {
		diag.Diagnostic
		direct  bool         // not through an alias
		through []*yaml.Node // aliases
	}
	var list []*joined
	known := map[mistake]*joined{}
	for _, one := range f {
		node, rest, alias := walkAliases(object, one.Path)
		at := mistake{node, rest, one.Code, one.Message}
		same := known[at]
		if same == nil {
			same = &joined{Diagnostic: one, direct: alias == nil}
			known[at], list = same, append(list, same)
		} else if alias == nil {
			same.Diagnostic, same.direct = one, true
		}
		if alias != nil {
			same.through = append(same.through, alias)
		}
	}
	out := make(findings, len(list))
	for i, one := range list {
		if out[i] = one.Diagnostic; one.direct || len(one.through) > 1 {
			out[i].Hint = joinHints(out[i].Hint, at.alsoThrough(one.through))
		}
	}
	return out
}

// alsoThrough names aliases, with their lines unless the object was built: then no file has them.
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
		of, _ := p.own()
		line, _ := of.inFile(a.Line, 0)
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
