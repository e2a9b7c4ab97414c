package agent

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"strconv"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/internal/credential"
	"github.com/agentry-dev/agentry/generator/internal/yamltext"
	"github.com/agentry-dev/agentry/generator/model"
	"github.com/agentry-dev/agentry/generator/runtimes"
)

// bytesPerJob is the typical size of a scrape job, to allocate once.
const bytesPerJob = 3500

// Print returns the configuration as YAML, ending in a newline. An empty configuration is {}.
func Print(c *model.Config) runtimes.Text { return encode(c, &writer{}) }

// PrintRedacted is Print with a placeholder for every secret value, for reviewers.
func PrintRedacted(c *model.Config) runtimes.Text { return encode(c, &writer{view: reviewed}) }

// printed returns the texts of [Print] and [PrintRedacted]. Without secret values they are equal, and printed once.
func printed(c *model.Config, soFar func([]byte)) runtimes.Printed {
	w := writer{soFar: soFar}
	text := encode(c, &w)
	if !w.hides {
		return runtimes.Printed{Text: text, Redacted: func() runtimes.Text { return text }}
	}
	return runtimes.Printed{Text: text, Redacted: func() runtimes.Text { return PrintRedacted(c) }}
}

// Masked returns the SHA-256 sums, in hexadecimal, of the configuration without its secret values and of these
// values; inlined is empty if there are none. The agent compares configurations by the former, so it does not notice
// if only a secret changed.
func Masked(c *model.Config) (rest, inlined string) {
	w := &writer{view: masked, secrets: sha256.New()}
	none := w.secrets.Sum(nil)
	text := sha256.Sum256(encode(c, w).Bytes)
	if sum := w.secrets.Sum(nil); !bytes.Equal(sum, none) {
		inlined = hex.EncodeToString(sum)
	}
	return hex.EncodeToString(text[:]), inlined
}

func encode(c *model.Config, w *writer) runtimes.Text {
	jobs := 0
	if c.Metrics != nil {
		for i := range c.Metrics.Configs {
			jobs += len(c.Metrics.Configs[i].ScrapeConfigs)
		}
	}
	w.buf, w.written = make([]byte, 0, 4<<10+jobs*bytesPerJob), map[writtenRule]extent{}
	encodeBlocks(w, c)
	if len(w.buf) == 0 {
		return runtimes.Text{Bytes: []byte("{}\n")}
	}
	return runtimes.Text{Bytes: w.buf, Spans: w.spans}
}

func encodeBlocks(w *writer, c *model.Config) {
	if c.Server != (model.Server{}) {
		block(w, "server", &c.Server, encodeServer)
	}
	block(w, "metrics", c.Metrics, encodeMetrics)
	block(w, "logs", c.Logs, encodeLogs)
	block(w, "integrations", c.Integrations, encodeIntegrations)
}

func encodeServer(w *writer, s *model.Server) {
	w.optStr("log_level", s.LogLevel)
	w.optStr("log_format", s.LogFormat)
}

func encodeMetrics(w *writer, m *model.Metrics) {
	w.optStr("wal_directory", m.WALDirectory)
	if m.Separate {
		w.str("instance_mode", "distinct")
	}
	optBlock(w, "global", &m.Global, encodeGlobal)
	w.optTrue("clustering", m.Clustered && w.newer)
	list(w, "configs", m.Configs, encodeInstance)
}

func encodeGlobal(w *writer, g *model.Global) {
	w.optStr("scrape_interval", g.ScrapeInterval)
	w.optStr("scrape_timeout", g.ScrapeTimeout)
	w.expand = true
	w.labels("external_labels", withShard(g))
	w.expand = false
	encodeLimits(w, &g.Limits)
	list(w, "remote_write", g.RemoteWrite, encodeRemoteWrite)
}

// The config reloader replaces these by values that differ in each pod.
const (
	replica = "replica-$(STATEFULSET_ORDINAL_NUMBER)"
	zone    = "$(TOPOLOGY_ZONE)"
)

// shardValues are the texts that the config reloader replaces, by what they stand for.
var shardValues = map[model.ShardValue]string{model.ShardNumber: "$(SHARD)", model.Zone: zone,
	model.ShardInZone: "$(INZONE_SHARD)"}

// withShard returns the external labels and those that distinguish replicas and zones.
func withShard(g *model.Global) map[string]string {
	if g.ReplicaLabel == "" && g.ZoneLabel == "" {
		return g.ExternalLabels
	}
	out := maps.Clone(map[string]string(g.ExternalLabels))
	if out == nil {
		out = map[string]string{}
	}
	if g.ZoneLabel != "" {
		out[g.ZoneLabel] = zone
	}
	if g.ReplicaLabel != "" {
		out[g.ReplicaLabel] = replica
	}
	return out
}

func encodeInstance(w *writer, i *model.Instance) {
	w.str("name", i.Name)
	w.optStr("wal_truncate_frequency", i.WALTruncateFrequency)
	w.optStr("min_wal_time", i.MinWALTime)
	w.optStr("max_wal_time", i.MaxWALTime)
	w.optStr("remote_flush_deadline", i.RemoteFlushDeadline)
	w.optTrue("write_stale_on_shutdown", i.WriteStaleOnShutdown)
	list(w, "remote_write", i.RemoteWrite, encodeRemoteWrite)
	jobs(w, i.Origin.Object, i.ScrapeConfigs, i.Additional, encodeScrape, func(job *model.ScrapeConfig) runtimes.Span {
		return runtimes.Span{Name: job.JobName, Origin: job.Origin, HandWritten: job.HandWritten}
	})
}

// jobs writes the scrape_configs of an instance: first those that were built, then the hand-written ones. span says
// what a job is.
func jobs[T any](w *writer, instance diag.Object, built []*T, additional []model.Raw, encode func(*writer, *T),
	span func(*T) runtimes.Span) {
	if len(built)+len(additional) == 0 {
		return
	}
	w.open("scrape_configs")
	for _, job := range built {
		s := span(job)
		if w.tree != nil {
			w.tree.put(lazy(s.Name, job, w.newer, encode))
			continue
		}
		start := len(w.buf)
		w.item()
		encode(w, job)
		w.endItem()
		s.Instance = instance
		w.mark(s, start)
		w.tell()
	}
	for i := range additional {
		if w.tree != nil {
			w.tree.put(handWritten(&additional[i]))
			continue
		}
		start := len(w.buf)
		w.raw(additional[i])
		w.mark(runtimes.Span{Instance: instance, Name: additional[i].Name(), Origin: additional[i].Origin,
			HandWritten: true}, start)
	}
	w.close()
}

// only writes a list with one item.
func only[T any](w *writer, k string, v *T, encode func(*writer, *T)) {
	if v == nil {
		return
	}
	w.open(k)
	w.item()
	encode(w, v)
	w.endItem()
	w.close()
}

// raw writes the lines of a mapping as a list item.
func (w *writer) raw(r model.Raw) {
	text := r.Text
	w.hides = w.hides || r.Shown != nil
	switch {
	case w.view == masked && r.Redacted != nil:
		w.secrets.Write(text)
		text = r.Redacted
	case w.view == reviewed && r.Shown != nil:
		text = r.Shown
	}
	w.item()
	for line := range bytes.Lines(text) {
		if len(line) > 1 { // an empty line can be part of a block scalar
			w.newline()
		}
		w.buf = append(w.buf, line...)
	}
	if n := len(w.buf); n > 0 && w.buf[n-1] != '\n' {
		w.buf = append(w.buf, '\n')
	}
	if r.Relabel != nil {
		follow(w, r)
	}
	w.endItem()
}

// follow writes rules after those that a text ends with.
func follow(w *writer, r model.Raw) {
	if r.Child("relabel_configs") == nil {
		relabel(w, "relabel_configs", r.Relabel)
		return
	}
	w.level++
	encodeRules(w, r.Relabel)
	w.level--
}

func encodeRemoteWrite(w *writer, r *model.RemoteWrite) {
	w.url("url", r.URL.Text())
	w.live("name", r.Name)
	w.live("remote_timeout", r.RemoteTimeout)
	encodeProxy(w, &r.Proxy)
	w.headers("headers", r.Headers)
	w.optBool("send_exemplars", r.SendExemplars)
	w.optBool("send_native_histograms", r.SendNativeHistograms)
	relabel(w, "write_relabel_configs", r.WriteRelabel)
	w.optBool("follow_redirects", r.FollowRedirects)
	w.optBool("enable_http2", r.EnableHTTP2)
	encodeAuth(w, &r.HTTPAuth)
	block(w, "sigv4", r.SigV4, encodeSigV4)
	block(w, "tls_config", r.TLS, encodeTLS)
	block(w, "azuread", r.AzureAD, encodeAzureAD)
	block(w, "queue_config", r.Queue, encodeQueue)
	block(w, "metadata_config", r.Metadata, encodeMetadata)
	if w.newer {
		w.optStr("protobuf_message", r.Message)
		w.optTrue("round_robin_dns", r.RoundRobinDNS)
	}
}

func encodeSigV4(w *writer, s *model.SigV4) {
	w.live("region", s.Region)
	w.live("profile", s.Profile)
	w.live("role_arn", s.RoleARN)
	w.identity("access_key", "", s.AccessKey)
	w.secret("secret_key", "", s.SecretKey)
	if w.newer {
		w.live("external_id", s.ExternalID)
		w.optTrue("use_fips_sts_endpoint", s.FIPS)
	}
}

func encodeAzureAD(w *writer, a *model.AzureAD) {
	w.live("cloud", a.Cloud)
	if a.ManagedIdentity.Set {
		w.open("managed_identity")
		w.text("client_id", a.ManagedIdentity)
		w.close()
	}
	block(w, "oauth", a.OAuth, func(w *writer, o *model.AzureOAuth) {
		w.live("client_id", o.ClientID)
		w.secret("client_secret", "", o.ClientSecret)
		w.live("tenant_id", o.TenantID)
	})
	if !w.newer {
		return
	}
	w.live("scope", a.Scope)
	block(w, "sdk", a.SDK, func(w *writer, s *model.AzureSDK) { w.live("tenant_id", s.TenantID) })
	block(w, "workload_identity", a.WorkloadIdentity, func(w *writer, i *model.AzureWorkloadIdentity) {
		w.live("client_id", i.ClientID)
		w.live("tenant_id", i.TenantID)
	})
}

func encodeQueue(w *writer, q *model.Queue) {
	w.optInt("capacity", q.Capacity)
	w.optInt("min_shards", q.MinShards)
	w.optInt("max_shards", q.MaxShards)
	w.optInt("max_samples_per_send", q.MaxSamplesPerSend)
	w.live("batch_send_deadline", q.BatchSendDeadline)
	w.live("min_backoff", q.MinBackoff)
	w.live("max_backoff", q.MaxBackoff)
	w.optBool("retry_on_http_429", q.RetryOn429)
	w.live("sample_age_limit", q.SampleAgeLimit)
}

func encodeMetadata(w *writer, m *model.Metadata) {
	w.boolean("send", m.Send)
	w.live("send_interval", m.SendInterval)
	if m.MaxSamplesPerSend != nil {
		w.integer("max_samples_per_send", int64(*m.MaxSamplesPerSend))
	}
}

func encodeScrape(w *writer, s *model.ScrapeConfig) {
	w.str("job_name", s.JobName)
	encodeSwitches(w, &s.Switches, 0, model.ClassicHistograms)
	w.optStr("scrape_interval", s.Interval)
	w.optStr("scrape_timeout", s.Timeout)
	w.optStr("metrics_path", s.MetricsPath)
	w.optStr("scheme", s.Scheme)
	w.params("params", s.Params)
	encodeClient(w, &s.HTTPClient)
	only(w, "kubernetes_sd_configs", s.Kubernetes, encodeKubernetesSD)
	only(w, "http_sd_configs", s.HTTP, encodeHTTPSD)
	if s.Static != nil {
		w.open("static_configs")
		w.item()
		w.strs("targets", s.Static.Targets)
		w.labels("labels", s.Static.Labels)
		w.endItem()
		w.close()
	}
	discoveries(w, s.Discoveries)
	encodeLimits(w, &s.Limits)
	encodeSwitches(w, &s.Switches, model.ClassicHistograms, model.Switch(len(s.Switches)))
	relabel(w, "relabel_configs", s.Relabel)
	relabel(w, "metric_relabel_configs", s.MetricRelabel)
	if w.newer {
		encodeFormats(w, &s.Formats)
	}
}

// encodeFormats writes how a job reads answers, in the words of newer Prometheus.
func encodeFormats(w *writer, f *model.Formats) {
	w.strs("scrape_protocols", f.Protocols)
	w.optStr("fallback_scrape_protocol", f.Fallback)
	w.optStr("metric_name_validation_scheme", f.NameValidation)
	w.optStr("metric_name_escaping_scheme", f.NameEscaping)
	w.optStr("native_histogram_min_bucket_factor", f.MinBucketFactor)
}

func encodeLimits(w *writer, l *model.Limits) {
	w.optStr("body_size_limit", l.BodySize)
	for c, v := range l.Counts {
		if v != nil {
			w.integer(model.Count(c).Name(), *v)
		}
	}
}

// encodeSwitches prints the switches from one to before another that the agent has.
func encodeSwitches(w *writer, all *model.Switches, from, to model.Switch) {
	for s := from; s < to; s++ {
		if all[s] != nil && (lacksOfJobs[s.Name()].since == "" || w.newer) {
			w.boolean(s.Name(), *all[s])
		}
	}
}

func encodeKubernetesSD(w *writer, k *model.KubernetesSD) {
	w.str("role", k.Role)
	w.url("api_server", k.APIServer)
	if len(k.Namespaces) > 0 {
		w.open("namespaces")
		w.strs("names", k.Namespaces)
		w.close()
	}
	if k.AttachNode != nil {
		w.open("attach_metadata")
		w.boolean("node", *k.AttachNode)
		w.close()
	}
	list(w, "selectors", k.Selectors, func(w *writer, s *model.RoleSelector) {
		w.str("role", s.Role)
		w.optStr("label", s.Label)
		w.optStr("field", s.Field)
	})
	encodeClient(w, &k.HTTPClient)
}

func encodeHTTPSD(w *writer, h *model.HTTPSD) {
	w.url("url", model.Present(h.URL))
	w.optStr("refresh_interval", h.RefreshInterval)
	encodeClient(w, &h.HTTPClient)
}

func relabel(w *writer, k string, rules []*model.Relabel) {
	if len(rules) > 0 {
		w.open(k)
		encodeRules(w, rules)
		w.close()
	}
}

// writtenRule is a rule at a depth of nesting: its text is the same wherever it is written.
type writtenRule struct {
	rule  *model.Relabel
	level int
}

// encodeRules writes the items of a list of rules. Jobs share most of their rules, so each is encoded once, and copied
// after that.
func encodeRules(w *writer, rules []*model.Relabel) {
	for _, r := range rules {
		at := writtenRule{r, w.level}
		if text, ok := w.written[at]; ok && w.tree == nil {
			w.buf = append(w.buf, w.buf[text.from:text.to]...)
			continue
		}
		from := len(w.buf)
		w.item()
		encodeRelabel(w, r)
		w.endItem()
		if w.tree == nil {
			w.written[at] = extent{from, len(w.buf)}
		}
	}
}

// readable returns an expression with the same meaning that the agent can read.
func readable(regex model.Text) model.Text {
	if yamltext.ReadsAsNull(regex.Value) {
		regex.Value = "(?:" + regex.Value + ")"
	}
	return regex
}

// replacement returns the replacement of a rule. Reviewers do not see a credential in it.
func (w *writer) replacement(r *model.Relabel) string {
	if credential.InRule(r.TargetLabel, r.Replacement.Value) {
		return w.conceal(r.Replacement.Value, placeholder)
	}
	return r.Replacement.Value
}

func encodeRelabel(w *writer, r *model.Relabel) {
	w.strs("source_labels", r.SourceLabels)
	w.text("separator", r.Separator)
	if r.Shard != model.NoShardValue {
		w.key("regex")
		w.space()
		w.plain(shardValues[r.Shard]+r.Regex.Value, shardValues[r.Shard]+r.Regex.Value)
	} else {
		w.text("regex", readable(r.Regex))
	}
	w.optStr("target_label", r.TargetLabel)
	if replacement := w.replacement(r); replacement != r.Replacement.Value {
		w.str("replacement", replacement)
	} else {
		w.text("replacement", r.Replacement)
	}
	w.optStr("action", r.Action)
	if r.Modulus != 0 {
		w.key("modulus")
		w.space()
		w.plain(int(r.Modulus), strconv.FormatUint(r.Modulus, 10))
	}
}
