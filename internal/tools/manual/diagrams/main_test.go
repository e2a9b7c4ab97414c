package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// TestDrawingsAreCurrent draws the diagrams of the manual again.
func TestDrawingsAreCurrent(t *testing.T) {
	folder := filepath.Join("..", "..", "..", "..", "docs", "diagrams")
	texts, err := filepath.Glob(filepath.Join(folder, "*.d2"))
	if err != nil || len(texts) == 0 {
		t.Fatalf("there are no diagrams: %v", err)
	}
	drawings, err := filepath.Glob(filepath.Join(folder, "*.svg"))
	if err != nil || len(drawings) != len(texts) {
		t.Errorf("%d drawings of %d texts: %v", len(drawings), len(texts), err)
	}
	for _, name := range texts {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		want, err := draw(t.Context(), string(text))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(drawingOf(name)); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s is not the drawing of %s: run make diagrams (%v)", drawingOf(name), name, err)
		}
	}
}
