package model_test

import (
	"testing"

	"github.com/agentry-dev/agentry/generator/model"
)

// Names are Prometheus's; fields are those of ServiceMonitors.
func TestEachSettingHasANameAndAField(t *testing.T) {
	seen := map[string]bool{}
	check := func(name, field, want string) {
		if name == "" || seen[name] || want != "" && field != want {
			t.Errorf("%q is the field %q, want %q", name, field, want)
		}
		seen[name] = true
	}
	limits := map[model.Count]string{model.Samples: "sampleLimit", model.LabelNameLength: "labelNameLengthLimit",
		model.HistogramBuckets: "nativeHistogramBucketLimit"}
	for i := range (model.Counts{}) {
		check(model.Count(i).Name(), model.Count(i).Field(), limits[model.Count(i)])
	}
	switches := map[model.Switch]string{model.HonorLabels: "honorLabels",
		model.ClassicHistograms:        "scrapeClassicHistograms",
		model.ConvertClassicHistograms: "convertClassicHistogramsToNHCB"}
	for i := range (model.Switches{}) {
		check(model.Switch(i).Name(), model.Switch(i).Field(), switches[model.Switch(i)])
	}
}
