package check

import (
	"fmt"
	"maps"

	"github.com/grafana/agent/static/logs"
	"github.com/grafana/loki/clients/pkg/logentry/stages"
	"github.com/grafana/loki/clients/pkg/promtail/client"
	"github.com/grafana/loki/clients/pkg/promtail/scrapeconfig"
	"github.com/grafana/loki/clients/pkg/promtail/wal"
	"github.com/prometheus/client_golang/prometheus"
)

func (c *checker) logs() {
	if c.cfg.Logs == nil {
		return
	}
	for _, one := range c.cfg.Logs.Configs {
		if len(one.ClientConfigs) == 0 {
			c.warn(Destination, "logs config %s has no clients", one.Name)
		} else {
			c.logsClients(one)
		}
		c.logsJobs(one)
	}
}

// logsClients makes the clients, which send nothing before the first entry.
func (c *checker) logsClients(one *logs.InstanceConfig) {
	clients := make([]client.Config, len(one.ClientConfigs))
	for i, cfg := range one.ClientConfigs {
		clients[i] = withoutFiles(cfg)
		for name := range cfg.ExternalLabels.LabelSet {
			c.labelName("logs config "+one.Name+": external_labels", string(name))
		}
	}
	reg := prometheus.NewRegistry()
	manager, err := client.NewManager(client.NewMetrics(reg), c.log, one.LimitsConfig, reg, wal.Config{},
		client.NilNotifier, clients...)
	if err != nil {
		c.error(LogsClients, "unable to apply config for %s: %v", one.Name, err)
		return
	}
	manager.Stop()
}

// withoutFiles takes the files of TLS away, which a client reads when it is made and which
// are only where the agent runs. Clients are compared by all that they hold, so their names
// are kept, in a header.
func withoutFiles(cfg client.Config) client.Config {
	tls := &cfg.Client.TLSConfig
	if tls.CAFile+tls.CertFile+tls.KeyFile == "" {
		return cfg
	}
	cfg.Headers = maps.Clone(cfg.Headers)
	if cfg.Headers == nil {
		cfg.Headers = map[string]string{}
	}
	cfg.Headers["X-Files"] = fmt.Sprintf("%q %q %q", tls.CAFile, tls.CertFile, tls.KeyFile)
	tls.CAFile, tls.CertFile, tls.KeyFile = "", "", ""
	return cfg
}

// logsJobs builds the pipelines, with one registry as the agent does: their metrics must go
// together.
func (c *checker) logsJobs(one *logs.InstanceConfig) {
	reg := prometheus.NewRegistry()
	for _, job := range one.ScrapeConfig {
		where := fmt.Sprintf("logs config %s: job %s", one.Name, job.JobName)
		if !hasTarget(job) {
			c.error(LogsJob, "%s: no valid target scrape config defined for %q", where, job.JobName)
		}
		pipeline, err := stages.NewPipeline(c.log, job.PipelineStages, &job.JobName, reg)
		if err != nil {
			c.error(LogsJob, "%s: %v", where, err)
			continue
		}
		pipeline.Cleanup()
	}
}

// hasTarget repeats the switch of promtail's targets.NewTargetManagers, which starts what it
// finds.
func hasTarget(job scrapeconfig.Config) bool {
	return job.HasServiceDiscoveryConfig() ||
		job.JournalConfig != nil ||
		job.SyslogConfig != nil ||
		job.GcplogConfig != nil ||
		job.PushConfig != nil ||
		job.WindowsConfig != nil ||
		job.KafkaConfig != nil ||
		job.AzureEventHubsConfig != nil ||
		job.GelfConfig != nil ||
		job.CloudflareConfig != nil ||
		job.DockerSDConfigs != nil ||
		job.HerokuDrainConfig != nil
}
