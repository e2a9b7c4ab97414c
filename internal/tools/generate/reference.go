package main

import (
	_ "embed"
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// referencePage is the page with every field of the Pipeline.
const referencePage = "docs/pipeline-reference.md"

// referenceHead is the text above the fields.
//
//go:embed reference.head.md
var referenceHead string

const referenceFoot = `
What to read next: [the pipeline file](pipeline.md), [the command line](cli.md), [diagnostics](diagnostics.md).
`

// object is a section of the page: an object of a Pipeline and the places where it may stand.
type object struct {
	paths []string
	rows  string
	below []*object
}

// writeReference writes the page from the schema of pipelines, before it has the fields of Kubernetes' types.
func writeReference(out string, pipeline *props) error {
	r := reference{objects: map[string]*object{}}
	spec := pipeline.Properties["spec"]
	root := r.object("spec", &spec)
	if len(r.undescribed) > 0 {
		return fmt.Errorf("fields without a doc comment: %s", strings.Join(r.undescribed, ", "))
	}
	var page strings.Builder
	page.WriteString(referenceHead)
	root.write(&page, map[*object]bool{})
	page.WriteString(referenceFoot)
	return writeFile(filepath.Join(out, referencePage), []byte(page.String()))
}

// reference collects objects. Objects with the same fields are one, such as all credentials.
type reference struct {
	objects     map[string]*object // by their rows
	undescribed []string
}

// object returns the object at a path, with the objects below it.
func (r *reference) object(path string, schema *props) *object {
	var rows strings.Builder
	var below []*object
	covered := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(schema.Properties)) {
		names, text := r.describe(name, schema)
		for _, n := range names {
			covered[n] = true
		}
		if text == "" {
			continue // the comment of another field is about this one too
		}
		field := "`" + strings.Join(names, "`, `") + "`"
		if slices.Contains(schema.Required, name) {
			field += ", required"
		}
		property, at := schema.Properties[name], path+"."+name
		if property.Items != nil {
			property, at = *property.Items.Schema, at+"[]"
		}
		if len(property.Properties) > 0 && !isForeign(name) {
			inner := r.object(at, &property)
			below = append(below, inner)
			field += " ([fields](#" + anchor(inner.title()) + "))"
		}
		fmt.Fprintf(&rows, "| %s | %s |\n", field, text)
	}
	for name := range schema.Properties {
		if !covered[name] {
			r.undescribed = append(r.undescribed, path+"."+name)
		}
	}
	if known := r.objects[rows.String()]; known != nil {
		known.paths = append(known.paths, path)
		return known
	}
	o := &object{paths: []string{path}, rows: rows.String(), below: below}
	r.objects[o.rows] = o
	return o
}

// foreign are fields whose own fields Kubernetes or Flux describes.
var foreign = []string{"podDisruptionBudget", "credentials", "keySecret", "secret", "configMap", "target"}

func isForeign(name string) bool {
	_, isOfWorkload := workloadTypes[name]
	return isOfWorkload || slices.Contains(foreign, name)
}

// title is the path of the object, or the name of a field that many objects have.
func (o *object) title() string {
	first := o.paths[0]
	if name := first[strings.LastIndex(first, ".")+1:]; shared[name] {
		return name
	}
	return first
}

// shared are the fields that several objects have with the same fields below.
var shared = map[string]bool{"auth": true, "forge": true, "githubApp": true, "webhook": true}

// anchor is the fragment of the heading with a title.
func anchor(title string) string {
	return strings.ToLower(regexp.MustCompile(`[^A-Za-z0-9]`).ReplaceAllString(title, ""))
}

func (o *object) write(page *strings.Builder, written map[*object]bool) {
	if written[o] {
		return
	}
	written[o] = true
	fmt.Fprintf(page, "\n## %s\n\n", o.title())
	if len(o.paths) > 1 {
		fmt.Fprintf(page, "At `%s`.\n\n", strings.Join(o.paths, "`, `"))
	}
	page.WriteString("| field | meaning |\n|---|---|\n" + o.rows)
	for _, inner := range o.below {
		inner.write(page, written)
	}
}

var (
	// leading matches the names of fields with which a comment begins.
	leading = regexp.MustCompile(`^[A-Z]\w*(?:(?:, | and |, and )[A-Z]\w*)*`)
	name    = regexp.MustCompile(`[A-Z]\w*`)
	// phrase matches what follows the name of a field in comments that are not sentences.
	phrase = regexp.MustCompile(`^ (?:of|to) `)
	// verb matches the verb that a definition does not need.
	verb       = regexp.MustCompile(`^ (?:is|are) `)
	participle = regexp.MustCompile(`^ (?:is|are) (?:\w+ed|for|made) `)
	page       = regexp.MustCompile(`docs/([a-z-]+)\.md(#[a-z0-9-]+)?`)
)

// describe returns the fields that the comment of a field is about, and the comment as Markdown, without these names
// at its beginning. The others of several fields have no comment.
func (r *reference) describe(field string, schema *props) (names []string, text string) {
	text = strings.Join(strings.Fields(schema.Properties[field].Description), " ")
	subject := leading.FindString(text)
	for _, goName := range name.FindAllString(subject, -1) {
		for other := range schema.Properties {
			if strings.EqualFold(other, goName) && (other == field || schema.Properties[other].Description == "") {
				names = append(names, other)
			}
		}
	}
	if text == "" {
		return nil, ""
	}
	if rest := text[len(subject):]; len(names) == 0 || phrase.MatchString(rest) {
		names = []string{field}
	} else {
		if !participle.MatchString(rest) {
			rest = verb.ReplaceAllString(rest, "")
		}
		rest = strings.TrimSpace(rest)
		text = strings.ToUpper(rest[:1]) + rest[1:]
	}
	text = page.ReplaceAllString(text, "[$1]($1.md$2)")
	return names, strings.ReplaceAll(text, "|", `\|`)
}
