package console

import (
	"strings"
	"unicode/utf8"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/explain"
)

// box is a box of a way on a page.
type box struct {
	explain.Box
	Class    string    // of the style
	Place    placeLink // of the field that its author wrote
	Branches [][]box
}

// longText is from how many letters on a text has a line of boxes for itself.
const longText = 200

// Way returns the boxes of a job.
func (p explainPage) Way(r explain.Rendering, j explain.Job) []box { return p.boxes(r.Boxes(j)) }

// ToWriter returns the boxes of a writer.
func (p explainPage) ToWriter(w explain.Writer) []box { return p.boxes(w.Boxes()) }

func (p explainPage) boxes(list []explain.Box) (out []box) {
	for _, of := range list {
		b := box{Box: of}
		var classes []string
		if of.Filters {
			classes = append(classes, "filter")
		}
		if utf8.RuneCountInString(of.Text) > longText {
			classes = append(classes, "long")
		}
		if len(of.Branches) > 0 {
			classes = append(classes, "divides")
		}
		b.Class = strings.Join(classes, " ")
		if of.From != nil {
			b.Place = p.placeOf(*of.From)
		}
		for _, branch := range of.Branches {
			b.Branches = append(b.Branches, p.boxes(branch))
		}
		out = append(out, b)
	}
	return out
}

// placeOf returns the place of a field in the inputs, or its path if the place is not known.
func (p explainPage) placeOf(f explain.Field) placeLink {
	if f.File == "" {
		return placeLink{Text: f.Path}
	}
	return placeLink{fileAndLine(f.File, f.Line), p.FieldPage(f)}
}

// FieldPage returns the page of a field in the inputs at their forge, at the commit that was read.
func (p explainPage) FieldPage(f explain.Field) string {
	return p.row.FilePage(diag.Diagnostic{Source: f.Source, File: f.File, Line: f.Line})
}
