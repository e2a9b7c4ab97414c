package pipeline

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/manifest"
)

// Read reads a pipeline from a document, sets its defaults and validates it. If there is an error, it must not be used.
func (p *Pipeline) Read(d manifest.Document) diag.List {
	found := manifest.Pipeline.Decode(d, p, func() diag.List {
		f := setTwice("", reflect.ValueOf(p).Elem())
		p.Default()
		p.Places = p.places(d)
		return append(diag.List(f), p.Validate()...)
	})
	for i := range found {
		if found[i].Code != diag.PipelineConflict {
			found[i].Code = diag.PipelineInvalid // whatever the schema says
		}
	}
	return found
}

// places returns where the settings of workloads, the patches and the images are.
func (p *Pipeline) places(d manifest.Document) map[string]Place {
	out := map[string]Place{}
	for list, n := range map[string]int{"spec.workloads": len(p.Spec.Workloads), "spec.patches": len(p.Spec.Patches),
		"spec.images": len(p.Spec.Images)} {
		for i := range n {
			field := fmt.Sprintf("%s[%d]", list, i)
			line, column := d.Position(field)
			at := Place{File: d.File(), Line: line, Column: column}
			if list == "spec.patches" {
				at.TextLine, at.TextColumn = d.TextStart(field+".patch", p.Spec.Patches[i].Patch)
			}
			out[field] = at
		}
	}
	return out
}

// setTwice reports the credentials that are named both by a file and by an environment variable.
func setTwice(path string, v reflect.Value) (f findings) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			return setTwice(path, v.Elem())
		}
	case reflect.Slice:
		for i := range v.Len() {
			f.add(setTwice(fmt.Sprintf("%s[%d]", path, i), v.Index(i)))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			field := v.Type().Field(i)
			name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			at := strings.TrimPrefix(path+"."+name, ".")
			f.add(setTwice(at, v.Field(i)))
			if credential, isEnv := strings.CutSuffix(field.Name, "Env"); isEnv && v.Field(i).String() != "" {
				file := v.FieldByName(credential + "File")
				f.check(!file.IsValid() || file.String() == "", at, "", "%sFile is set too; only one of them may be",
					strings.TrimSuffix(name, "Env"))
			}
		}
	}
	return f
}
