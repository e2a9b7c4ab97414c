package resourcelist

import "github.com/agentry-dev/agentry/generator/diag"

// Result is a finding, as the specification of KRM functions has it.
type Result struct {
	Message     string            `yaml:"message"`
	Severity    string            `yaml:"severity"`
	ResourceRef *Reference        `yaml:"resourceRef,omitempty"`
	Field       *Field            `yaml:"field,omitempty"`
	File        *File             `yaml:"file,omitempty"`
	Tags        map[string]string `yaml:"tags,omitempty"`
}

// Reference names the object that a finding is about.
type Reference struct {
	APIVersion string `yaml:"apiVersion,omitempty"`
	Kind       string `yaml:"kind,omitempty"`
	Namespace  string `yaml:"namespace,omitempty"`
	Name       string `yaml:"name,omitempty"`
}

// Field is the field that a finding is about.
type Field struct {
	Path string `yaml:"path"`
}

// File is the file that a finding is about, and the document in it.
type File struct {
	Path  string `yaml:"path"`
	Index int    `yaml:"index,omitempty"`
}

// Place gives a finding of a pass over [List.Files] the place of its item: only its file, because the lines of the file
// are not known. It returns the item, or nil.
func (l *List) Place(d *diag.Diagnostic) *Item {
	it := l.Item(d.File, d.Line)
	if it == nil && d.File != nowhere {
		return nil
	}
	d.File, d.Line, d.Column = "", 0, 0
	if it != nil {
		d.File = it.Path
	}
	return it
}

// Result returns the result of a finding that [List.Place] has placed at the item; nil is for a finding about no item.
func (it *Item) Result(d diag.Diagnostic) Result {
	r := Result{Message: d.Message, Severity: string(d.Severity), Tags: map[string]string{"code": string(d.Code)}}
	if d.Hint != "" {
		r.Message += "; " + d.Hint
	}
	if o := d.Object; o != (diag.Object{}) {
		r.ResourceRef = &Reference{o.APIVersion, o.Kind, o.Namespace, o.Name}
	}
	if d.Path != "" {
		r.Field = &Field{Path: d.Field()}
	}
	switch {
	case it != nil && it.Path != "":
		r.File = &File{Path: it.Path, Index: it.Index}
	case d.File != "":
		r.File = &File{Path: d.File}
	}
	return r
}
