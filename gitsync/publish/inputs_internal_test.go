package publish

import (
	"reflect"
	"slices"
	"testing"
	"time"

	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/agentry-dev/agentry/generator/api/v1alpha1"
	"github.com/agentry-dev/agentry/generator/compile/integration"
	"github.com/agentry-dev/agentry/gitsync/pipeline"
)

// TestEverySettingIsInTheDigest: commits of pipelines that render differently have different digests.
func TestEverySettingIsInTheDigest(t *testing.T) {
	seen := map[string]string{}
	for name, change := range map[string]func(*pipeline.Spec){
		"nothing": func(*pipeline.Spec) {},
		"url":     func(s *pipeline.Spec) { s.SDAggregator.URL = "https://sd" },
		"interval": func(s *pipeline.Spec) {
			s.SDAggregator.RefreshInterval = &metav1.Duration{Duration: time.Minute}
		},
		"tls":           func(s *pipeline.Spec) { s.SDAggregator.TLSConfig = &v1alpha1.TLSConfig{CAFile: "ca"} },
		"authorization": func(s *pipeline.Spec) { s.SDAggregator.Authorization = &monitoringv1.SafeAuthorization{} },
		"restart":       func(s *pipeline.Spec) { s.Secrets.RestartOnChange = true },
		"integrations":  func(s *pipeline.Spec) { s.Integrations = []integration.Entry{{Name: "nginx"}} },
	} {
		var p pipeline.Pipeline
		p.Default()
		change(&p.Spec)
		digest := configDigest(&p.Spec)
		if other, ok := seen[digest]; ok || len(digest) != 64 {
			t.Errorf("%s and %s: %s", name, other, digest)
		}
		seen[digest] = name
	}
}

// TestWhatRendersIsInTheLock: every field makes a new proposal, except fields that cannot change the render.
// gitops-promoter proposes nothing while the lock file stays the same.
func TestWhatRendersIsInTheLock(t *testing.T) {
	without := []string{"Suspend", "Interval", "ForEach", "Charts", "Limits", "Rollout", "Notify"}
	digest := func(spec pipeline.Spec) string {
		return (&Inputs{Pipeline: &pipeline.Pipeline{Spec: spec}}).renderDigest()
	}
	nothing := digest(pipeline.Spec{})
	spec := reflect.TypeFor[pipeline.Spec]()
	for i := range spec.NumField() {
		var s pipeline.Spec
		set(reflect.ValueOf(&s).Elem().Field(i), 8)
		if name := spec.Field(i).Name; (digest(s) == nothing) != slices.Contains(without, name) {
			t.Errorf("%s: is in the lock: %v", name, digest(s) != nothing)
		}
	}
	for name, want := range map[string]bool{"in": true, "kustomize": true, "other": false} {
		s := pipeline.Spec{Sources: []pipeline.Source{{}}}
		empty := digest(s)
		switch s.Sources[0] = (pipeline.Source{}); name {
		case "in":
			s.Sources[0].Paths = []string{name}
		case "kustomize":
			s.Sources[0].Build = pipeline.Build(name)
		case "other":
			s.Sources[0].URL = name // the commits stand in the lock file
		}
		if (digest(s) != empty) != want {
			t.Errorf("sources[0] %s: is in the lock: %v", name, !want)
		}
	}
	if digest(pipeline.Spec{Output: pipeline.Output{URL: "a"}}) != nothing {
		t.Error("output.url is in the lock")
	}
}

// set gives a field a value that is not zero, in all of its parts. It stops at a depth, because some types contain
// themselves.
func set(v reflect.Value, depth int) {
	if depth == 0 {
		return
	}
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(true)
	case reflect.String:
		v.SetString("x")
	case reflect.Int, reflect.Int32, reflect.Int64:
		v.SetInt(7)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		set(v.Elem(), depth-1)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		set(v.Index(0), depth-1)
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		set(key, depth-1)
		set(value, depth-1)
		v.SetMapIndex(key, value)
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Field(i).CanSet() {
				set(v.Field(i), depth-1)
			}
		}
	}
}
