package alloy

import (
	"cmp"
	"maps"
	"strconv"

	"github.com/agentry-dev/agentry/generator/internal/credential"
	"github.com/agentry-dev/agentry/generator/model"
	"github.com/agentry-dev/agentry/generator/runtimes/alloy/syntax"
)

// remoteWrite writes the component that stores the samples of an instance and sends them.
func (f *file) remoteWrite(global *model.Global, i *model.Instance, name string) {
	b := syntax.Block{Name: "prometheus.remote_write", Label: name}
	if labels := externalLabels(global); len(labels) > 0 {
		b.Set("external_labels", syntax.Object(labels))
	}
	for _, w := range writers(global, i) {
		b.Add(f.endpoint(&w))
	}
	b.Add(wal(i))
	f.instances = append(f.instances, component{Block: b})
}

// writers returns the endpoints that an instance sends to. Alloy refuses two endpoints that are equal once secrets are
// masked, so endpoints with the same URL get names.
func writers(global *model.Global, i *model.Instance) []model.RemoteWrite {
	list := i.RemoteWrite
	if len(list) == 0 {
		list = global.RemoteWrite
	}
	to := map[string]int{}
	for _, w := range list {
		to[credential.Redacted(string(w.URL))]++
	}
	out := make([]model.RemoteWrite, len(list))
	for n, w := range list {
		if w.Name == "" && to[credential.Redacted(string(w.URL))] > 1 {
			w.Name = model.String("agentry-" + strconv.Itoa(n))
		}
		out[n] = w
	}
	return out
}

// wal returns how long samples are kept. The agent's defaults are other than Alloy's.
func wal(i *model.Instance) syntax.Block {
	b := syntax.Block{Name: "wal"}
	b.Set("truncate_frequency", syntax.String(cmp.Or(i.WALTruncateFrequency, "1h")))
	b.Set("min_keepalive_time", syntax.String(cmp.Or(i.MinWALTime, "5m")))
	b.Set("max_keepalive_time", syntax.String(cmp.Or(i.MaxWALTime, "4h")))
	return b
}

// endpoint returns one destination. What Alloy or one of its versions takes for granted in another way than the agent
// is written out.
func (f *file) endpoint(w *model.RemoteWrite) syntax.Block {
	b := syntax.Block{Name: "endpoint"}
	f.live(&b, "name", w.Name)
	f.setURL(&b, "url", w.URL.Text())
	f.duration(&b, "remote_timeout", w.RemoteTimeout)
	headers := make(map[string]model.Text, len(w.Headers))
	for name, value := range w.Headers {
		headers[name] = model.String(value).Text()
	}
	f.setMap(&b, "headers", headers)
	b.Set("send_exemplars", syntax.Bool(orTrue(w.SendExemplars)))
	setBool(&b, "send_native_histograms", w.SendNativeHistograms)
	setString(&b, "protobuf_message", w.Message)
	setTrue(&b, "round_robin_dns", w.RoundRobinDNS)
	client := w.HTTPClient
	client.EnableHTTP2 = new(orTrue(client.EnableHTTP2))
	f.client(&b, &client)
	if w.SigV4 != nil {
		b.Add(f.sigV4(w.SigV4))
	}
	if w.AzureAD != nil {
		b.Add(f.azureAD(w.AzureAD))
	}
	b.Add(f.queue(w.Queue))
	if m := w.Metadata; m != nil {
		one := *m
		one.Send = m.Send && w.Message != model.WriteV2 // which has them in each request
		b.Add(f.metadata(&one))
	}
	for _, r := range w.WriteRelabel {
		b.Add(rule("write_relabel_config", r))
	}
	return b
}

func (f *file) sigV4(s *model.SigV4) syntax.Block {
	b := syntax.Block{Name: "sigv4"}
	f.live(&b, "region", s.Region)
	f.live(&b, "profile", s.Profile)
	f.live(&b, "role_arn", s.RoleARN)
	f.live(&b, "external_id", s.ExternalID)
	setTrue(&b, "use_fips_sts_endpoint", s.FIPS)
	f.identity(&b, "access_key", s.AccessKey)
	f.secret(&b, "secret_key", s.SecretKey)
	return b
}

func (f *file) azureAD(a *model.AzureAD) syntax.Block {
	b := syntax.Block{Name: "azuread"}
	f.live(&b, "cloud", a.Cloud)
	f.live(&b, "scope", a.Scope)
	if a.ManagedIdentity.Set {
		inner := syntax.Block{Name: "managed_identity"}
		inner.Set("client_id", f.text("managed_identity", a.ManagedIdentity))
		b.Add(inner)
	}
	if k := a.SDK; k != nil {
		inner := syntax.Block{Name: "sdk"}
		inner.Set("tenant_id", f.text("tenant_id", k.TenantID.Text()))
		b.Add(inner)
	}
	if k := a.WorkloadIdentity; k != nil {
		inner := syntax.Block{Name: "workload_identity"}
		f.live(&inner, "client_id", k.ClientID)
		f.live(&inner, "tenant_id", k.TenantID)
		b.Add(inner)
	}
	if o := a.OAuth; o != nil {
		inner := syntax.Block{Name: "oauth"}
		f.live(&inner, "client_id", o.ClientID)
		f.secret(&inner, "client_secret", o.ClientSecret)
		f.live(&inner, "tenant_id", o.TenantID)
		b.Add(inner)
	}
	return b
}

func (f *file) queue(q *model.Queue) syntax.Block {
	if q == nil {
		q = &model.Queue{}
	}
	b := syntax.Block{Name: "queue_config"}
	setInt(&b, "capacity", q.Capacity)
	setInt(&b, "min_shards", q.MinShards)
	setInt(&b, "max_shards", q.MaxShards)
	setInt(&b, "max_samples_per_send", q.MaxSamplesPerSend)
	f.duration(&b, "batch_send_deadline", q.BatchSendDeadline)
	f.duration(&b, "min_backoff", q.MinBackoff)
	f.duration(&b, "max_backoff", q.MaxBackoff)
	b.Set("retry_on_http_429", syntax.Bool(orTrue(q.RetryOn429)))
	f.duration(&b, "sample_age_limit", q.SampleAgeLimit)
	return b
}

func (f *file) metadata(m *model.Metadata) syntax.Block {
	b := syntax.Block{Name: "metadata_config"}
	b.Set("send", syntax.Bool(m.Send))
	f.duration(&b, "send_interval", m.SendInterval)
	if m.MaxSamplesPerSend != nil {
		setInt(&b, "max_samples_per_send", int64(*m.MaxSamplesPerSend))
	}
	return b
}

// setTrue sets a switch that is off by default.
func setTrue(b *syntax.Block, name string, v bool) {
	if v {
		b.Set(name, syntax.Bool(true))
	}
}

func orTrue(v *bool) bool { return v == nil || *v }

// externalLabels returns the labels of all samples. Those that distinguish replicas and zones take precedence.
func externalLabels(g *model.Global) []syntax.Pair {
	all := expandedLabels(g.ExternalLabels)
	if g.ZoneLabel != "" {
		all[g.ZoneLabel] = syntax.Env(shardValues[model.Zone])
	}
	if g.ReplicaLabel != "" {
		all[g.ReplicaLabel] = syntax.Replaced("replica-$(STATEFULSET_ORDINAL_NUMBER)")
	}
	maps.DeleteFunc(all, func(_ string, e syntax.Expr) bool { return e == `""` })
	return pairs(all)
}

// expandedLabels returns labels in whose values variables are expanded.
func expandedLabels(labels model.Expandable) map[string]syntax.Expr {
	out := make(map[string]syntax.Expr, len(labels))
	for name, text := range labels {
		out[name], _ = expanded(text)
	}
	return out
}

// pairs returns labels in the order of their names.
func pairs(labels map[string]syntax.Expr) (out []syntax.Pair) {
	for _, name := range sortedKeys(labels) {
		out = append(out, syntax.Pair{Key: name, Value: labels[name]})
	}
	return out
}
