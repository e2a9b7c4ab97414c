package display

import (
	"errors"
	"io"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/fluxcd/pkg/apis/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/gitsync"
	"github.com/agentry-dev/agentry/gitsync/plan"
	"github.com/agentry-dev/agentry/internal/server"
)

// hostile is a text that would clear the screen, end its line, and give commands to CI runners.
const hostile = "::error::a\x1b[2J\u009b2J\r\n::add-mask::b ##[group]c ##vso[task.x]d\u202ee\t"

// fill sets every text in a value, and makes its lists and maps non-empty.
func fill(v reflect.Value, text string) {
	switch v.Kind() {
	case reflect.String:
		v.SetString(text)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), text)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0), text)
	case reflect.Map:
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		fill(key, text)
		fill(value, text)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(key, value)
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Field(i).CanSet() && v.Type().Field(i).Type.PkgPath() != "time" {
				fill(v.Field(i), text)
			}
		}
	}
}

// TestForeignTextSteersNothing prints everything with harmless and with hostile text: both have the same number of
// lines, and none is a command to a terminal or a runner.
func TestForeignTextSteersNothing(t *testing.T) {
	for name, print := range map[string]func(w io.Writer, text string) error{
		"pass": func(w io.Writer, text string) error {
			r := &gitsync.Report{DryRun: true}
			fill(reflect.ValueOf(&r.Pipeline).Elem(), text)
			fill(reflect.ValueOf(&r.Sources).Elem(), text)
			fill(reflect.ValueOf(&r.Output).Elem(), text)
			fill(reflect.ValueOf(&r.Units).Elem(), text)
			fill(reflect.ValueOf(&r.Held).Elem(), text)
			fill(reflect.ValueOf(&r.Changes).Elem(), text)
			fill(reflect.ValueOf(&r.Ignored).Elem(), text)
			return errors.Join(Pass(w, r, false), PrintSuspended(w, text))
		},
		"status": func(w io.Writer, text string) error {
			var s server.Pipeline
			fill(reflect.ValueOf(&s).Elem(), text)
			s.Conditions = []metav1.Condition{
				{Type: meta.ReadyCondition, Status: metav1.ConditionStatus(text), Message: text},
				{Type: meta.StalledCondition, Status: metav1.ConditionTrue, Message: text},
			}
			return errors.Join(Statuses(w, []server.Pipeline{s}), Details(w, s))
		},
		"problems": func(w io.Writer, text string) error {
			var f diag.Diagnostic
			fill(reflect.ValueOf(&f).Elem(), text)
			return Problems(w, diag.List{f})
		},
		"tree": func(w io.Writer, text string) error {
			var f Forest
			n := node{Kind: text, Namespace: text, Name: text, Paused: true, State: plan.UnitState(text), Ignored: text}
			f.Agents = []*node{{Kind: text, Namespace: text, Name: text, Children: []*node{&n}}}
			f.Unselected = []*node{&n}
			fill(reflect.ValueOf(&f.Held).Elem(), text)
			fill(reflect.ValueOf(&f.Units).Elem(), text)
			return f.WriteText(w, false)
		},
		"JSON": func(w io.Writer, text string) error {
			var s server.Pipeline
			fill(reflect.ValueOf(&s).Elem(), text)
			return diag.WriteJSON(w, s)
		},
	} {
		t.Run(name, func(t *testing.T) {
			var harmless, got strings.Builder
			if err := errors.Join(print(&harmless, "harmless"), print(&got, hostile)); err != nil {
				t.Fatal(err)
			}
			if want, lines := strings.Count(harmless.String(), "\n"), strings.Count(got.String(), "\n"); lines != want {
				t.Errorf("%d lines, with harmless text %d", lines, want)
			}
			if found := regexp.MustCompile(`[^\n\PC]|(?m)^\s*::|##\w*\[`).FindString(got.String()); found != "" {
				t.Errorf("%q is in %q", found, got.String())
			}
		})
	}
}
