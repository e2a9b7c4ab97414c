package scrape

import (
	"slices"
	"strings"

	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	promv1alpha1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1alpha1"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/model"
)

// ScrapeConfig returns the job of a ScrapeConfig, and findings about it. Its author writes every rule: there are none
// for namespaces, pods or services.
func (c *Current) ScrapeConfig(m *promv1alpha1.ScrapeConfig, secrets Secrets) (*model.ScrapeConfig, diag.List) {
	spec := &m.Spec
	j := c.newJob("scrapeConfig/"+m.Namespace+"/"+m.Name, "spec.", &m.ObjectMeta, "scrapeconfigs",
		spec.ScrapeClassName,
		secrets)
	j.config.Switches[model.HonorLabels] = unlessOverridden(spec.HonorLabels, j.settings.OverrideHonorLabels)
	j.config.Switches[model.HonorTimestamps] = unlessOverridden(spec.HonorTimestamps,
		j.settings.OverrideHonorTimestamps)
	j.config.Switches[model.TrackStaleness] = spec.TrackTimestampsStaleness
	j.config.MetricsPath, j.config.Params, j.config.Scheme = orEmpty(spec.MetricsPath), spec.Params,
		scheme(spec.Scheme)
	j.found.checkMetricsPath("spec.metricsPath", j.config.MetricsPath)
	j.timing(orEmpty(spec.ScrapeInterval), orEmpty(spec.ScrapeTimeout))
	j.client(&monitoringv1.HTTPConfigWithoutTLS{BasicAuth: spec.BasicAuth, OAuth2: spec.OAuth2,
		EnableHTTP2: spec.EnableHTTP2},
		spec.Authorization, "", withoutFiles(spec.TLSConfig), &spec.ProxyConfig)
	j.limits(model.Counts{
		model.Samples: spec.SampleLimit, model.Targets: spec.TargetLimit, model.Labels: spec.LabelLimit,
		model.LabelNameLength: spec.LabelNameLengthLimit, model.LabelValueLength: spec.LabelValueLengthLimit,
		model.KeptDropped: spec.KeepDroppedTargets, model.HistogramBuckets: spec.NativeHistogramBucketLimit,
	}, spec.BodySizeLimit)
	j.formats(&spec.NativeHistogramConfig, spec.ScrapeProtocols, spec.FallbackScrapeProtocol)
	j.names(spec.NameValidationScheme, spec.NameEscapingScheme)
	j.config.Switches[model.Compression] = spec.EnableCompression
	before := len(j.found.List)
	discoverAll(&j.job, spec)
	if len(j.config.Discoveries) == 0 && len(j.found.List) == before {
		j.found.Add(diag.SelectsNothing.At("spec",
			"finds no targets: it has neither staticConfigs nor a service discovery").
			WithHint("write staticConfigs, or one of the fields that end with SDConfigs"))
	}

	j.add(j.class.relabel...)
	if spec.JobName != nil {
		j.add(&model.Relabel{TargetLabel: "job", Replacement: model.Present(*spec.JobName), Action: "replace"})
	}
	shard := c.shared.shard
	if c.settings.Shards == 1 || slices.ContainsFunc(spec.RelabelConfigs, hashes) ||
		slices.ContainsFunc(j.class.spec.Relabelings, hashes) {
		shard = nil
	}
	j.end("relabelings", spec.RelabelConfigs, spec.MetricRelabelConfigs, shard)
	return &j.config, j.found.List
}

// hashes reports whether a rule shards targets by itself.
func hashes(r monitoringv1.RelabelConfig) bool { return strings.EqualFold(r.Action, "hashmod") }

// unlessOverridden returns a setting that was written; false if the GrafanaAgent overrides it.
func unlessOverridden(own *bool, overridden bool) *bool {
	if own == nil || !overridden {
		return own
	}
	return new(bool)
}

func orEmpty[S ~string](s *S) S {
	if s == nil {
		return ""
	}
	return *s
}
