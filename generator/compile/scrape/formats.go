package scrape

import (
	"strconv"

	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"

	"github.com/agentry-dev/agentry/generator/model"
)

// formats sets the formats that a job reads, and what it makes of histograms.
func (j *currentJob) formats(h *monitoringv1.NativeHistogramConfig, accepted []monitoringv1.ScrapeProtocol,
	fallback *monitoringv1.ScrapeProtocol) {
	switches, out := &j.config.Switches, &j.config.Formats
	switches[model.ClassicHistograms] = h.ScrapeClassicHistograms
	switches[model.NativeHistograms] = h.ScrapeNativeHistograms
	switches[model.ConvertClassicHistograms] = h.ConvertClassicHistogramsToNHCB
	if f := h.NativeHistogramMinBucketFactor; f != nil && !f.IsZero() {
		out.MinBucketFactor = strconv.FormatFloat(f.AsApproximateFloat64(), 'f', -1, 64)
	}
	for _, p := range accepted {
		out.Protocols = append(out.Protocols, string(p))
	}
	switch class := j.class.spec.FallbackScrapeProtocol; {
	case fallback != nil && *fallback != "":
		out.Fallback = string(*fallback)
	case class != nil:
		out.Fallback = string(*class)
		out.FallbackOrigin = model.Origin{Object: j.settings.Agent, Path: j.class.path + ".fallbackScrapeProtocol"}
	}
}

// names sets which names of metrics and labels a job takes, and how the others are written. What every Prometheus does
// by default is left out.
func (j *currentJob) names(validation *monitoringv1.NameValidationSchemeOptions,
	escaping *monitoringv1.NameEscapingSchemeOptions) {
	out := &j.config.Formats
	if validation != nil && *validation == monitoringv1.UTF8NameValidationScheme {
		out.NameValidation = "utf8"
	}
	if escaping == nil || *escaping == monitoringv1.UnderscoresNameEscapingScheme && out.NameValidation == "" {
		return
	}
	out.NameEscaping = map[monitoringv1.NameEscapingSchemeOptions]string{
		monitoringv1.AllowUTF8NameEscapingScheme:   "allow-utf-8",
		monitoringv1.UnderscoresNameEscapingScheme: "underscores",
		monitoringv1.DotsNameEscapingScheme:        "dots", monitoringv1.ValuesNameEscapingScheme: "values",
	}[*escaping]
}
