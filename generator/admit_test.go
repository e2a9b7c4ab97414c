package generator_test

import (
	"errors"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/agentry-dev/agentry/generator"
	"github.com/agentry-dev/agentry/generator/manifest"
)

// TestARenderEndsBetweenUnits: a pass whose time is over renders no further unit.
func TestARenderEndsBetweenUnits(t *testing.T) {
	t.Parallel()
	text := ""
	for i := range 50 {
		text += fmt.Sprintf(
			"apiVersion: monitoring.grafana.com/v1alpha1\nkind: GrafanaAgent\nmetadata: {name: a%d, namespace: m}\n"+
				"---\n", i)
	}
	set := manifest.NewSet(manifest.Parse(manifest.File{Path: "in.yaml", Data: []byte(text)}, manifest.Options{}))
	over := errors.New("its time is over")
	var asked atomic.Int64
	out := generator.Render(set, generator.Options{Admit: func(int64) error {
		if asked.Add(1) > 10 {
			return over
		}
		return nil
	}}, nil)
	rendered := 0
	for _, u := range out.Units {
		if u != nil {
			rendered++
		}
	}
	if !errors.Is(out.Refused, over) || rendered != 5 { // each asks for its objects and for its text
		t.Errorf("%d units, %v", rendered, out.Refused)
	}
}
