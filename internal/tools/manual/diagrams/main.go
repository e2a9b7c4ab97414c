// Command diagrams draws the diagrams of the manual: an SVG beside each text in docs/diagrams.
//
//	go -C internal/tools/manual run ./diagrams -folder ../../../docs/diagrams
//
// The texts are in D2 (https://d2lang.com), and are the source. The drawings are committed, because forges can show
// but not draw them. The same text gives the same bytes. A drawing has colours for light and dark pages, and contains
// its font.
package main

import (
	"context"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"oss.terrastruct.com/d2/d2graph"
	"oss.terrastruct.com/d2/d2layouts/d2dagrelayout"
	"oss.terrastruct.com/d2/d2lib"
	"oss.terrastruct.com/d2/d2renderers/d2svg"
	"oss.terrastruct.com/d2/d2themes/d2themescatalog"
	"oss.terrastruct.com/d2/lib/log"
	"oss.terrastruct.com/d2/lib/textmeasure"
)

func main() {
	folder := flag.String("folder", "docs/diagrams", "the `folder` of the texts, which gets the drawings")
	flag.Parse()
	if err := run(context.Background(), *folder); err != nil {
		fmt.Fprintln(os.Stderr, "diagrams:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, folder string) error {
	texts, err := filepath.Glob(filepath.Join(folder, "*.d2"))
	if err != nil {
		return err
	}
	for _, name := range texts {
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		drawing, err := draw(ctx, string(text))
		if err != nil {
			return fmt.Errorf("draw %s: %w", name, err)
		}
		if err := os.WriteFile(drawingOf(name), drawing, 0o666); err != nil {
			return err
		}
	}
	return nil
}

// drawingOf returns the file of a text's drawing.
func drawingOf(text string) string { return strings.TrimSuffix(text, ".d2") + ".svg" }

// draw returns the SVG of a text.
func draw(ctx context.Context, text string) ([]byte, error) {
	ruler, err := textmeasure.NewRuler()
	if err != nil {
		return nil, err
	}
	light, dark, pad, scale := d2themescatalog.NeutralDefault.ID, d2themescatalog.DarkMauve.ID, int64(10), 0.75
	style := &d2svg.RenderOpts{ThemeID: &light, DarkThemeID: &dark, Pad: &pad, Scale: &scale}
	layout := func(string) (d2graph.LayoutGraph, error) { return d2dagrelayout.DefaultLayout, nil }
	quiet := log.With(ctx, slog.New(slog.DiscardHandler))
	diagram, _, err := d2lib.Compile(quiet, text, &d2lib.CompileOptions{Ruler: ruler, LayoutResolver: layout}, style)
	if err != nil {
		return nil, err
	}
	return d2svg.Render(diagram, style)
}
