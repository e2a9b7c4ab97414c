package alloyconfig

import (
	"slices"
	"strings"

	"github.com/agentry-dev/agentry/generator/internal/alloynames"
)

// Config returns what a configuration does, as maps, lists, strings, numbers and booleans in the shape of the agent's:
//
//	metrics.configs: instances with name, external_labels, remote_write, wal and scrape_configs
//	logs.configs: instances with name, clients and scrape_configs
//	integrations: lists called KIND_configs
//	server: log_level and log_format
//	components: what belongs to none of these, each with its id in the field component
//
// The items of scrape_configs are *[Job]s, which are not read yet.
//
// The text is in the field unreadable if it is not in Alloy's language, or if it has no end where targets come from.
func Config(text string) map[string]any {
	blocks, err := Blocks(text)
	if err != nil {
		return map[string]any{"unreadable": text}
	}
	c := config{byID: map[string]*Block{}, used: map[string]bool{}, writers: map[string]map[string]any{}, ofExporter: map[string][]any{}}
	for _, b := range blocks {
		c.byID[b.ID()] = b
	}
	for _, b := range blocks {
		switch b.Name {
		case "prometheus.remote_write":
			c.writer(b)
		case "loki.write":
			c.client(b, blocks)
		case "logging":
			c.used[b.ID()] = true
			c.server = renamed(fields(b), map[string]string{"level": "log_level", "format": "log_format"})
		}
	}
	for _, b := range blocks {
		switch b.Name {
		case "prometheus.scrape":
			c.scrapes(b)
		case "loki.source.file", "loki.source.journal":
			c.reads(b)
		}
	}
	if c.isEndless {
		return map[string]any{"unreadable": text}
	}
	for _, instance := range c.metrics {
		sortJobs(instance)
	}
	return c.whole(blocks)
}

// config is a configuration while it is read.
type config struct {
	byID          map[string]*Block
	used          map[string]bool           // by id: what is in the result, as a part of something
	writers       map[string]map[string]any // instances by the id of the component that sends
	metrics, logs []map[string]any
	server        map[string]any
	ofExporter    map[string][]any // the jobs of integrations that scrape themselves, by the id of the integration
	followed      int              // bytes of expressions that are read to find where targets come from
	isEndless     bool             // there are too many of these
}

// whole returns the result.
func (c *config) whole(blocks []*Block) map[string]any {
	out := map[string]any{}
	if len(c.server) > 0 {
		out["server"] = c.server
	}
	if len(c.metrics) > 0 {
		out["metrics"] = map[string]any{"configs": list(c.metrics)}
	}
	if len(c.logs) > 0 {
		out["logs"] = map[string]any{"configs": list(c.logs)}
	}
	integrations, rest := map[string]any{}, []any{}
	for _, b := range blocks {
		if kind := IntegrationOf(b.Name); kind != "" {
			one := fields(b)
			one["integration"] = alloynames.Name(b.Label)
			if jobs := c.ofExporter[b.ID()]; len(jobs) > 0 {
				one["autoscrape"] = jobs
			}
			same, _ := integrations[kind+"_configs"].([]any)
			integrations[kind+"_configs"] = append(same, one)
			continue
		}
		if !c.used[b.ID()] {
			one := fields(b)
			one["component"] = b.ID()
			rest = append(rest, one)
		}
	}
	if len(integrations) > 0 {
		out["integrations"] = integrations
	}
	if len(rest) > 0 {
		out["components"] = rest
	}
	return out
}

func list(maps []map[string]any) (out []any) {
	for _, m := range maps {
		out = append(out, m)
	}
	return out
}

// writer adds the instance of a component that writes.
func (c *config) writer(b *Block) {
	c.used[b.ID()] = true
	one := renamed(fields(b), map[string]string{"endpoint": "remote_write"})
	one["name"] = alloynames.Name(b.Label)
	c.writers[b.ID()] = one
	c.metrics = append(c.metrics, one)
}

// client adds a client to its instance. The first client has the instance's name, those that follow have a number too.
func (c *config) client(b *Block, blocks []*Block) {
	c.used[b.ID()] = true
	label := b.Label
	if at := strings.LastIndex(label, "__"); at > 0 && c.byID["loki.write."+label[:at]] != nil && isNumber(label[at+2:]) && precedes(blocks, "loki.write."+label[:at], b) {
		label = label[:at]
	}
	one := c.writers["loki.write."+label]
	if one == nil {
		one = map[string]any{"name": alloynames.Name(label)}
		c.writers["loki.write."+label] = one
		c.logs = append(c.logs, one)
	}
	endpoints, _ := fields(b)["endpoint"].([]any)
	for _, e := range endpoints {
		to := e.(map[string]any)
		if labels := b.attr("external_labels"); labels != "" {
			to["external_labels"] = value(labels)
		}
		clients, _ := one["clients"].([]any)
		one["clients"] = append(clients, to)
	}
}

func isNumber(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }

// precedes reports whether the component with an id is in front of a block.
func precedes(blocks []*Block, id string, b *Block) bool {
	return slices.IndexFunc(blocks, func(o *Block) bool { return o.ID() == id }) < slices.Index(blocks, b)
}

// to returns the components that a component sends to, and marks them as used.
func (c *config) to(b *Block, attr string) (out []*Block) {
	for _, id := range references(b.attr(attr)) {
		if next := c.byID[id]; next != nil {
			c.used[id] = true
			out = append(out, next)
		}
	}
	return out
}

// sortJobs sorts the jobs of an instance by name. Their order in the text tells which endpoints share a component, and nothing that an
// instance does depends on it.
func sortJobs(instance map[string]any) {
	jobs, _ := instance["scrape_configs"].([]any)
	slices.SortStableFunc(jobs, func(a, b any) int { return strings.Compare(a.(*Job).Name, b.(*Job).Name) })
}

// addJob adds a job to an instance.
func addJob(instance map[string]any, job *Job) {
	jobs, _ := instance["scrape_configs"].([]any)
	instance["scrape_configs"] = append(jobs, job)
}
