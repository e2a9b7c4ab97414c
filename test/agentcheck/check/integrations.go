package check

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"
	"syscall"

	"github.com/grafana/agent/static/integrations/v2"
	"github.com/grafana/agent/static/integrations/v2/agent"
	"github.com/grafana/agent/static/integrations/v2/apache_http"
	"github.com/grafana/agent/static/integrations/v2/app_agent_receiver"
	blackbox "github.com/grafana/agent/static/integrations/v2/blackbox_exporter"
	"github.com/grafana/agent/static/integrations/v2/common"
	"github.com/grafana/agent/static/integrations/v2/eventhandler"
	"github.com/grafana/agent/static/integrations/v2/metricsutils"
	snmp "github.com/grafana/agent/static/integrations/v2/snmp_exporter"
	vmware "github.com/grafana/agent/static/integrations/v2/vmware_exporter"
	"github.com/grafana/agent/static/logs"
	"github.com/grafana/agent/static/metrics/instance"
	"github.com/grafana/agent/static/traces"
	"github.com/prometheus/client_golang/prometheus"
	prom_config "github.com/prometheus/prometheus/config"
)

// integrations does what the agent's integrations controller does with a first
// configuration, without stopping at the first error and without running anything.
func (c *checker) integrations() {
	options := c.cfg.Integrations.ConfigV2
	if options == nil {
		return // without the feature integrations-next the section has another schema
	}
	globals, err := c.globals(*options)
	if err != nil {
		c.error(Start, "%v", err)
		return
	}
	c.singletons(options.Configs)
	keys := map[string][]string{}
	scraped := map[string][]*prom_config.ScrapeConfig{}
	for _, one := range options.Configs {
		key, ok := c.identify(one, globals)
		if !ok {
			continue
		}
		if slices.Contains(keys[one.Name()], key) {
			c.error(Unique, "multiple instance names %q in integration %q", key, one.Name())
		}
		keys[one.Name()] = append(keys[one.Name()], key)
		c.extraLabels(one, key)
		c.autoscrape(one, globals, scraped)
		c.construct(one, key, globals)
	}
	c.paths(keys)
	c.autoscrapers(scraped)
}

// globals are what the agent's entrypoint gives to integrations. The logs subsystem has all
// instances by name, and none of them does anything.
func (c *checker) globals(options integrations.SubsystemOptions) (integrations.Globals, error) {
	host, err := instance.Hostname()
	if err != nil {
		return integrations.Globals{}, err
	}
	_, port, err := c.cfg.ServerFlags.HTTP.ListenHostPort()
	if err != nil {
		return integrations.Globals{}, err
	}
	idle := &logs.Config{}
	if c.cfg.Logs != nil {
		for _, one := range c.cfg.Logs.Configs {
			named := &logs.InstanceConfig{Name: one.Name}
			named.PositionsConfig.PositionsFile = "positions.yml"
			idle.Configs = append(idle.Configs, named)
		}
	}
	reg := prometheus.NewRegistry()
	logsSubsystem, err := logs.New(reg, idle, c.log, true)
	if err != nil {
		return integrations.Globals{}, err
	}
	tracing, err := traces.New(logsSubsystem, instance.MockManager{}, reg, traces.Config{}, c.log)
	return integrations.Globals{
		AgentIdentifier: fmt.Sprintf("%s:%d", host, port),
		Logs:            logsSubsystem,
		Tracing:         tracing,
		SubsystemOpts:   options,
		AgentBaseURL:    &url.URL{Scheme: "http", Host: c.cfg.ServerFlags.HTTP.InMemoryAddr},
	}, err
}

// wrappedSingletons are v1 integrations that make no sense twice in one agent. The agent
// misses that: it looks for the type of what it wrapped them in.
func wrappedSingletons() []string {
	return []string{"cadvisor", "node_exporter", "process", "statsd", "windows"}
}

func (c *checker) singletons(configs integrations.Configs) {
	seen := map[string]bool{}
	for _, one := range configs {
		name := one.Name()
		kind, _ := integrations.RegisteredType(one)
		switch {
		case !seen[name]:
		case kind == integrations.TypeSingleton:
			c.error(Unique, "integration %q may only be defined once", name)
		case slices.Contains(wrappedSingletons(), name):
			c.warn(Unique, "integration %q is meant to be defined once", name)
		}
		seen[name] = true
	}
}

func (c *checker) identify(one integrations.Config, globals integrations.Globals) (key string, ok bool) {
	key, err := one.Identifier(globals)
	if err != nil {
		c.error(Start, "could not build identifier for integration %q: %v", one.Name(), err)
		return "", false
	}
	if err := one.ApplyDefaults(globals); err != nil {
		c.error(Start, "failed to apply defaults for %s/%s: %v", one.Name(), key, err)
		return "", false
	}
	return key, true
}

// commonSettings are those that all integrations with metrics have; nil for the others.
func commonSettings(one integrations.Config) *common.MetricsConfig {
	switch one := one.(type) {
	case *metricsutils.ConfigShim:
		return &one.Common
	case *agent.Config:
		return &one.Common
	case *apache_http.Config:
		return &one.Common
	case *app_agent_receiver.Config:
		return &one.Common
	case *blackbox.Config:
		return &one.Common
	case *snmp.Config:
		return &one.Common
	case *vmware.Config:
		return &one.Common
	}
	return nil
}

func (c *checker) extraLabels(one integrations.Config, key string) {
	where := fmt.Sprintf("integration %s/%s: extra_labels", one.Name(), key)
	if settings := commonSettings(one); settings != nil {
		c.labelNames(where, settings.ExtraLabels)
	}
	if events, ok := one.(*eventhandler.Config); ok {
		c.labelNames(where, events.ExtraLabels)
	}
}

// autoscrape collects the job by which the agent scrapes an integration, by the metrics
// instance that is to have the samples.
func (c *checker) autoscrape(one integrations.Config, globals integrations.Globals,
	into map[string][]*prom_config.ScrapeConfig) {
	settings := commonSettings(one)
	if settings == nil {
		return
	}
	running, err := metricsutils.NewMetricsHandlerIntegration(c.log, one, *settings, globals, http.NotFoundHandler())
	if err != nil {
		c.error(Start, "failed to construct %s integration: %v", one.Name(), err)
		return
	}
	for _, job := range running.ScrapeConfigs(nil) {
		into[job.Instance] = append(into[job.Instance], &job.Config)
	}
}

// autoscrapers validates those jobs as the scrape manager of each metrics instance does.
func (c *checker) autoscrapers(jobs map[string][]*prom_config.ScrapeConfig) {
	for _, name := range slices.Sorted(maps.Keys(jobs)) {
		exists := slices.ContainsFunc(c.cfg.Metrics.Configs, func(m instance.Config) bool { return m.Name == name })
		if !exists {
			c.error(Autoscrape, "configuring autoscraper failed for %s: instance %s does not exist",
				jobs[name][0].JobName, name)
			continue
		}
		one := prom_config.Config{ScrapeConfigs: jobs[name]}
		if _, err := one.GetScrapeConfigs(); err != nil {
			c.error(Autoscrape, "configuring autoscraper failed: %v", err)
		}
	}
}

// reachesOut are the integrations whose constructors want what only the pod has.
func reachesOut() map[string]string {
	return map[string]string{
		"cadvisor":      "starts to watch the host",
		"elasticsearch": "ends the process when a file of TLS is missing",
		"eventhandler":  "asks for a kubeconfig",
		"gcp":           "asks for Google credentials",
		"kafka":         "dials the brokers",
		"node_exporter": "reads the host's file systems, wherever they are mounted",
		"oracledb":      "connects to the database",
		"process":       "reads the host's processes, wherever they are mounted",
	}
}

// construct makes an integration, where that is possible without its surroundings.
func (c *checker) construct(one integrations.Config, key string, globals integrations.Globals) {
	if events, ok := one.(*eventhandler.Config); ok && globals.Logs.Instance(events.LogsInstance) == nil {
		c.warn(Reference, "integration %s/%s: logs instance %q not found", one.Name(), key, events.LogsInstance)
	}
	if reachesOut()[one.Name()] != "" {
		return
	}
	c.step(func() {
		if _, err := one.NewIntegration(c.log, globals); err != nil && !missingFile(err) {
			c.error(Start, "failed to construct %s integration %q: %v", one.Name(), key, err)
		}
	})
}

// missingFile reports whether a file is not here, or something else under its name; not
// everything wraps that error.
func missingFile(err error) bool {
	is := func(reason error) bool { return strings.HasSuffix(err.Error(), ": "+reason.Error()) }
	return errors.Is(err, fs.ErrNotExist) || is(syscall.ENOENT) || is(syscall.EISDIR) || is(syscall.EINVAL)
}

// paths warns about instances that cannot be reached where the agent serves them. One
// alone has the path of its name. The route and what the SD API answers are cleaned alike,
// so what matters is that the path stays below the name and is no other's.
func (c *checker) paths(keys map[string][]string) {
	for _, name := range slices.Sorted(maps.Keys(keys)) {
		if len(keys[name]) < 2 {
			continue
		}
		for _, key := range keys[name] {
			own := path.Join("/", name, key)
			if strings.ContainsAny(key, "{}") || !strings.HasPrefix(own, "/"+name+"/") {
				c.warn(Path, "integration %s: the instance %q does not fit into a path", name, key)
			}
			for _, other := range keys[name] {
				if other != key && strings.HasPrefix(path.Join("/", name, other)+"/", own+"/") {
					c.warn(Path, "integration %s: the path of the instance %q hides that of %q", name, key, other)
				}
			}
		}
	}
}
