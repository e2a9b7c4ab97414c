package alloy

import (
	"bytes"
	"slices"

	"github.com/agentry-dev/agentry/generator/model"
	"github.com/agentry-dev/agentry/generator/runtime/alloy/syntax"
)

// Print returns the configuration in Alloy's language.
func Print(c *model.Config) []byte { return newFile(false).print(c) }

// PrintRedacted is Print with a placeholder for every secret value, for reviewers.
func PrintRedacted(c *model.Config) []byte { return newFile(true).print(c) }

// printBoth returns what [Print] returns, and a function that returns what [PrintRedacted] does. That is the same text if it hides
// nothing.
func printBoth(c *model.Config) (text []byte, redacted func() []byte) {
	f := newFile(false)
	text = f.print(c)
	return text, func() []byte {
		switch {
		case c.Integrations != nil || f.hidesInRules:
			return PrintRedacted(c)
		case f.hides:
			return redact(c, text)
		}
		return text
	}
}

// redact is PrintRedacted for a configuration whose text is known, and whose rules for targets hide nothing. They are most of the text,
// and not printed again, but taken from it.
func redact(c *model.Config, text []byte) []byte {
	f := newFile(true)
	f.withoutRules = true
	f.logging(&c.Server)
	f.monitoring(c)
	if first, _, found := bytes.Cut(f.targets, []byte("{")); found {
		f.targets = text[bytes.LastIndex(text, slices.Concat([]byte("\n"), first))+1:]
	}
	return f.join()
}

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
	ownBlocks  map[ownRule]syntax.Block
	timings    timings

	withoutRules bool // those of targets are not wanted
	hidesInRules bool // a rule of targets has another value where secret values are replaced
	clustered    bool // the pods share the targets

	discoveryIDs map[string]bool // which must differ

	exporters map[*model.ScrapeConfig]syntax.Expr // the targets of jobs of integrations that scrape themselves
	pods      *model.PodIntegrations              // what IntegrationMonitors select from
	monitored syntax.Expr                         // their targets, once they are written
}

// bytesPerJob is the typical size of the rules for the targets of a job, to allocate once.
const bytesPerJob = 3000

func newFile(redact bool) *file {
	return &file{values: values{redact: redact}, discovered: map[string]string{}, relabelled: map[string]bool{}, regexes: regexes{}, ruleBlocks: map[*model.Relabel]syntax.Block{}, ownBlocks: map[ownRule]syntax.Block{}, timings: timings{}, discoveryIDs: map[string]bool{}, exporters: map[*model.ScrapeConfig]syntax.Expr{}}
}

func (f *file) print(c *model.Config) []byte {
	f.logging(&c.Server)
	if c.Integrations != nil {
		writeIntegrations(f, c)
	} else {
		f.monitoring(c)
	}
	return f.join()
}

// join returns the sections as one text.
func (f *file) join() []byte {
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
		f.pods, f.clustered = c.Metrics.Integrations, c.Metrics.Clustered
		jobs := 0
		for i := range c.Metrics.Configs {
			jobs += len(c.Metrics.Configs[i].ScrapeConfigs)
		}
		if !f.withoutRules {
			f.targets = make([]byte, 0, jobs*bytesPerJob)
		}
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
