package alloy

import (
	"slices"

	"github.com/agentry-dev/agentry/generator/model"
	"github.com/agentry-dev/agentry/generator/runtimes/alloy/syntax"
)

// Formats that Alloy treats in a special way.
const (
	protobuf = "PrometheusProto"     // the only one with native histograms
	text1    = "PrometheusText1.0.0" // came with Prometheus 3
)

// asksForNative reports whether the scrapes of a job ask for native histograms.
func asksForNative(job *model.ScrapeConfig) bool {
	on := job.Switches[model.NativeHistograms]
	return on != nil && *on && (len(job.Formats.Protocols) == 0 || slices.Contains(job.Formats.Protocols, protobuf))
}

// formats sets how answers are read. Native histograms need the format that has them, which Prometheus puts first by
// itself.
func formats(b *syntax.Block, job *model.ScrapeConfig) {
	f := &job.Formats
	accepted := f.Protocols
	if len(accepted) == 0 && asksForNative(job) {
		accepted = []string{protobuf, "OpenMetricsText1.0.0", "OpenMetricsText0.0.1", "PrometheusText0.0.4"}
	}
	if len(accepted) > 0 {
		b.Set("scrape_protocols", syntax.Strings(accepted))
	}
	setString(b, "scrape_fallback_protocol", f.Fallback)
	setString(b, "metric_name_validation_scheme", f.NameValidation)
	setString(b, "metric_name_escaping_scheme", f.NameEscaping)
	if factor, ok := syntax.Number(f.MinBucketFactor); ok {
		b.Set("native_histogram_min_bucket_factor", factor)
	}
}

// isV2 reports whether a remote write sends messages of version 2.0, which have metadata if they are stored with the
// samples.
func isV2(w model.RemoteWrite) bool { return w.Message == model.WriteV2 }

// experimental is the flag without which Alloy refuses messages of version 2.0, and metadata in storage.
const experimental = "--stability.level=experimental"

// stability returns the flag for the experimental features of a configuration, if it has some.
func stability(c *model.Config) []string {
	if c == nil || c.Metrics == nil {
		return nil
	}
	uses := func(i model.Instance) bool { return slices.ContainsFunc(writers(&c.Metrics.Global, &i), isV2) }
	if !slices.ContainsFunc(c.Metrics.Configs, uses) {
		return nil
	}
	return []string{experimental}
}
