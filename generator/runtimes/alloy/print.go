package alloy

import (
	"iter"

	"github.com/agentry-dev/agentry/generator/model"
	"github.com/agentry-dev/agentry/generator/runtimes"
	"github.com/agentry-dev/agentry/generator/runtimes/alloy/syntax"
)

// Print returns the configuration in Alloy's language.
func Print(c *model.Config) runtimes.Text { return newFile(false).of(c).print() }

// PrintRedacted is Print with a placeholder for every secret value, for reviewers.
func PrintRedacted(c *model.Config) runtimes.Text { return newFile(true).of(c).print() }

// printed returns the text of [Print] and the other forms of the same file. Reviewers see the same text if it hides
// nothing.
func printed(c *model.Config, _ func([]byte)) runtimes.Printed {
	f := newFile(false).of(c)
	text := f.print()
	redacted := func() runtimes.Text {
		switch {
		case c.Integrations != nil || f.hidesInRules:
			return PrintRedacted(c)
		case f.hides:
			return f.redacted(c).print()
		}
		return text
	}
	return runtimes.Printed{Text: text, Redacted: redacted, Split: f.split}
}

// redacted returns the file with a placeholder for every secret value. Its rules for targets hide nothing: they are the
// same.
func (f *file) redacted(c *model.Config) *file {
	shown := newFile(true)
	shown.withoutRules = true
	shown.logging(&c.Server)
	shown.monitoring(c)
	shown.targets = f.targets
	return shown
}

// file is a file in the making: the components of its sections, in their order.
type file struct {
	values

	settings    []component // of the program
	instances   []component // writers, and what scrapes, reads or changes something
	discoveries []component
	targets     []component // rules for the targets of endpoints

	discovered map[string]string // the discoveries, by what is in them: the reference to their targets
	relabelled map[string]int    // the endpoints, by label: the number of their rules in targets
	regexes    regexes

	ruleBlocks map[*model.Relabel]*syntax.Block
	ownBlocks  map[ownRule]*syntax.Block
	timings    timings

	withoutRules bool // leave out the rules of targets
	hidesInRules bool // a rule of targets differs where secret values are replaced
	clustered    bool // the pods share the targets

	discoveryIDs map[string]bool // which must differ

	exporters map[*model.ScrapeConfig]syntax.Expr // the targets of jobs of integrations that scrape themselves
	pods      *model.PodIntegrations              // what IntegrationMonitors select from
	monitored syntax.Expr                         // their targets, once they are written
}

// component is a block of a file, a setting of the program or a component.
type component struct {
	syntax.Block
	// targets are the lists of targets of a component that scrapes. They are its first attribute, which is not one of
	// the block.
	targets []syntax.Expr
	// namespace is the namespace of the object whose targets a discovery.relabel makes.
	namespace string
	// parts are what the component stands for in the text of the file.
	parts []runtimes.Span

	bytes int // in a file, once it is printed
}

// appendTo appends the component to a text, and an empty line in front of it unless it is the first.
func (c *component) appendTo(text *runtimes.Text) {
	b := c.Block
	if len(c.targets) > 0 {
		b.Attrs = append([]syntax.Attr{{Name: "targets", Value: concat(c.targets)}}, b.Attrs...)
	}
	if len(text.Bytes) > 0 {
		text.Bytes = append(text.Bytes, '\n')
	}
	start := len(text.Bytes)
	text.Bytes = syntax.Append(text.Bytes, &b)
	for _, p := range c.parts {
		p.Start, p.End = start, len(text.Bytes)
		text.Spans = append(text.Spans, p)
	}
}

// bytesPerJob is the typical size of the rules for the targets of a job, to allocate once.
const bytesPerJob = 3000

func newFile(redact bool) *file {
	return &file{values: values{redact: redact}, discovered: map[string]string{}, relabelled: map[string]int{},
		regexes:    regexes{},
		ruleBlocks: map[*model.Relabel]*syntax.Block{}, ownBlocks: map[ownRule]*syntax.Block{}, timings: timings{},
		discoveryIDs: map[string]bool{}, exporters: map[*model.ScrapeConfig]syntax.Expr{}}
}

// of makes the components of a configuration, and returns the file.
func (f *file) of(c *model.Config) *file {
	f.logging(&c.Server)
	if c.Integrations != nil {
		writeIntegrations(f, c)
	} else {
		f.monitoring(c)
	}
	return f
}

// components returns all components, in the order of the file.
func (f *file) components() iter.Seq[*component] {
	return func(yield func(*component) bool) {
		for _, section := range [...][]component{f.settings, f.files, f.instances, f.discoveries, f.targets} {
			for i := range section {
				if !yield(&section[i]) {
					return
				}
			}
		}
	}
}

// print prints the file.
func (f *file) print() (text runtimes.Text) {
	text.Bytes = make([]byte, 0, 4<<10+len(f.targets)*bytesPerJob)
	for c := range f.components() {
		start := len(text.Bytes)
		c.appendTo(&text)
		c.bytes = len(text.Bytes) - start
	}
	return text
}

// monitoring writes the components of MetricsInstances and LogsInstances with their jobs.
func (f *file) monitoring(c *model.Config) {
	if c.Metrics != nil {
		f.pods, f.clustered = c.Metrics.Integrations, c.Metrics.Clustered
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

// logging sets the level and the format of the program's own log. The agent takes an unknown format for logfmt, which
// is the default.
func (f *file) logging(s *model.Server) {
	b := syntax.Block{Name: "logging"}
	setString(&b, "level", s.LogLevel)
	if s.LogFormat == "json" {
		setString(&b, "format", s.LogFormat)
	}
	if len(b.Attrs) > 0 {
		f.settings = append(f.settings, component{Block: b})
	}
}
