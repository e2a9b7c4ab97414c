package generator_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/agentry-dev/agentry/generator"
	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/model"
	"github.com/agentry-dev/agentry/generator/runtime"
	"github.com/agentry-dev/agentry/generator/runtime/alloy"
)

// TestWhatAlloyCannotReadIsLeftOut: a mistake of the printer is an error of the monitor that it concerns, and all
// others are rendered.
func TestWhatAlloyCannotReadIsLeftOut(t *testing.T) {
	broken := alloy.Runtime()
	broken.Print = func(c *model.Config) runtime.Printed {
		out := alloy.Runtime().Print(c)
		out.Bytes = bytes.ReplaceAll(out.Bytes, []byte(`"hunter2"`), []byte("         "))
		return out
	}
	secret := ", relabelings: [{targetLabel: x, replacement: hunter2}]"
	inputs := readText(faultyAgent + faultyMonitor("one", "") + faultyMonitor("two", secret))
	out := generator.Render(inputs, generator.Options{Runtime: broken}, nil)
	unit := out.Units[0]
	if unit.Failed || len(unit.Held) != 1 || unit.Held[0].ID.Name != "two" {
		t.Fatalf("failed %v, held %v: %v", unit.Failed, unit.Held, out.Diags)
	}
	found := 0
	for _, d := range out.Diags {
		if d.Code == diag.UnreadableConfig {
			found++
			if d.Object.Name != "two" || d.Line == 0 || strings.Contains(d.String(), "hunter2") {
				t.Errorf("%+v", d)
			}
		}
	}
	if found != 1 {
		t.Errorf("%d errors: %v", found, out.Diags)
	}
	for _, f := range unit.Files {
		has := func(job string) bool { return bytes.Contains(f.Data, []byte(job)) }
		if f.Path == "a-config.secret.yaml" && (!has("__one__0") || has("__two__0")) {
			t.Errorf("%s", f.Data)
		}
	}
	broken.Print = func(*model.Config) runtime.Printed {
		return runtime.Printed{Text: runtime.Text{Bytes: []byte("= 1\n")}}
	}
	if out = generator.Render(inputs, generator.Options{Runtime: broken}, nil); !out.Units[0].Failed {
		t.Errorf("a configuration that is nobody's fault is rendered: %v", out.Diags)
	}
}
