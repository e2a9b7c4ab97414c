package alloy

import (
	"bytes"

	"github.com/agentry-dev/agentry/generator/model"
	"github.com/agentry-dev/agentry/generator/runtime/alloy/syntax"
)

// Print returns the configuration in Alloy's language.
func Print(c *model.Config) []byte { return print(c, false) }

// PrintRedacted is Print with a placeholder for every secret value, for reviewers.
func PrintRedacted(c *model.Config) []byte { return print(c, true) }

// file is a file in the making. Its sections are written one after the other.
type file struct {
	values

	settings    []byte // of the program
	instances   []byte // writers, and what scrapes, reads or changes something
	discoveries []byte
	targets     []byte // rules for the targets of endpoints

	discovered map[string]string // the discoveries, by what is in them: the reference to their targets
	relabelled map[string]bool   // the endpoints, by label
	regexes    regexes

	ruleBlocks map[*model.Relabel]syntax.Block

	discoveryIDs map[string]bool // which must differ

	exporters map[*model.ScrapeConfig]syntax.Expr // the targets of jobs of integrations that scrape themselves
	pods      *model.PodIntegrations              // what IntegrationMonitors select from
	monitored syntax.Expr                         // their targets, once they are written
}

// bytesPerJob is the typical size of the rules for the targets of a job, to allocate once.
const bytesPerJob = 3000

func print(c *model.Config, redact bool) []byte {
	f := &file{values: values{redact: redact}, discovered: map[string]string{}, relabelled: map[string]bool{}, regexes: regexes{}, ruleBlocks: map[*model.Relabel]syntax.Block{}, discoveryIDs: map[string]bool{}, exporters: map[*model.ScrapeConfig]syntax.Expr{}}
	f.logging(&c.Server)
	if c.Integrations != nil {
		writeIntegrations(f, c)
	} else {
		f.monitoring(c)
	}
	var sections [][]byte
	for _, s := range [...][]byte{f.settings, f.files, f.instances, f.discoveries, f.targets} {
		if len(s) > 0 {
			sections = append(sections, s)
		}
	}
	return bytes.Join(sections, []byte("\n"))
}

// monitoring writes the components of MetricsInstances and LogsInstances with their jobs.
func (f *file) monitoring(c *model.Config) {
	if c.Metrics != nil {
		f.pods = c.Metrics.Integrations
		jobs := 0
		for i := range c.Metrics.Configs {
			jobs += len(c.Metrics.Configs[i].ScrapeConfigs)
		}
		f.targets = make([]byte, 0, jobs*bytesPerJob)
		for i := range c.Metrics.Configs {
			f.instance(&c.Metrics.Global, &c.Metrics.Configs[i])
		}
	}
	if c.Logs != nil {
		for i := range c.Logs.Configs {
			writeLogs(f, c.Logs.PositionsDirectory, &c.Logs.Configs[i])
		}
	}
}

// logging sets the level and the format of the program's own log. The agent takes an unknown format for logfmt, which is
// the default.
func (f *file) logging(s *model.Server) {
	b := syntax.Block{Name: "logging"}
	setString(&b, "level", s.LogLevel)
	if s.LogFormat == "json" {
		setString(&b, "format", s.LogFormat)
	}
	if len(b.Attrs) > 0 {
		f.settings = syntax.Append(f.settings, &b)
	}
}
