package agent

import (
	"github.com/agentry-dev/agentry/generator/model"
	"github.com/agentry-dev/agentry/generator/runtimes"
)

func encodeLogs(w *writer, l *model.Logs) {
	w.optStr("positions_directory", l.PositionsDirectory)
	list(w, "configs", l.Configs, encodeLogsInstance)
}

func encodeLogsInstance(w *writer, i *model.LogsInstance) {
	w.str("name", i.Name)
	list(w, "clients", i.Clients, encodeLogsClient)
	jobs(w, i.Origin.Object, i.ScrapeConfigs, i.Additional, encodeLogsScrape,
		func(job *model.LogsScrapeConfig) runtimes.Span {
			return runtimes.Span{Name: job.JobName, Origin: job.Origin}
		})
	block(w, "target_config", i.TargetConfig, func(w *writer, t *model.TargetConfig) {
		w.optStr("sync_period", t.SyncPeriod)
	})
}

func encodeLogsClient(w *writer, c *model.LogsClient) {
	w.url("url", c.URL.Text())
	w.live("name", c.Name)
	w.live("tenant_id", c.TenantID)
	w.live("batchwait", c.BatchWait)
	w.optInt("batchsize", c.BatchSize)
	w.live("timeout", c.Timeout)
	w.url("proxy_url", model.Expanded(string(c.ProxyURL)))
	encodeAuth(w, &c.HTTPAuth)
	block(w, "tls_config", c.TLS, encodeTLS)
	block(w, "backoff_config", c.Backoff, encodeBackoff)
	w.expand = true
	w.labels("external_labels", c.ExternalLabels)
	w.expand = false
}

func encodeBackoff(w *writer, b *model.Backoff) {
	w.live("min_period", b.MinPeriod)
	w.live("max_period", b.MaxPeriod)
	w.optInt("max_retries", b.MaxRetries)
}

func encodeLogsScrape(w *writer, s *model.LogsScrapeConfig) {
	w.str("job_name", s.JobName)
	only(w, "kubernetes_sd_configs", s.Kubernetes, encodeKubernetesSD)
	if len(s.Stages) > 0 {
		w.open("pipeline_stages")
		encodeStages(w, s.Stages)
		w.close()
	}
	relabel(w, "relabel_configs", s.Relabel)
}

// encodeIntegrations writes the integrations, in which variables are expanded. All strings are quoted: the agent
// reads this block twice, which changes plain scalars.
func encodeIntegrations(w *writer, i *model.Integrations) {
	w.open("metrics")
	w.open("autoscrape")
	w.boolean("enable", false)
	w.close()
	w.close()
	w.expand, w.quote = true, true
	for _, l := range i.Lists {
		w.openMap(l.Name + "_configs")
		for i, c := range l.Configs {
			start := len(w.buf)
			w.item()
			w.pairs(c)
			w.endItem()
			w.mark(runtimes.Span{Name: l.Named(i), Origin: l.Origin(i)}, start)
		}
		w.close()
	}
	w.expand, w.quote = false, false
}
