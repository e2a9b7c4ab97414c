package difference

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/agentry-dev/agentry/generator/internal/alloyconfig"
)

// configurations adds the consequences of changed configurations in a unit.
func (u *unit) configurations() {
	before, after, same := activities{}, activities{}, map[string]*[2]int{}
	for _, o := range u.objects {
		if !o.changesConfiguration() {
			continue
		}
		if o.changesProgram() {
			if u.programs(o, same); !u.agentTerms {
				continue // they have no terms in common
			}
		}
		before.add(o, o.before)
		after.add(o, o.after)
		for _, c := range o.changes {
			if len(c.Path) > 1 && isConfiguration(c.Path[0].Field) {
				u.agentChange(agentChange{c, o})
			}
		}
	}
	u.compareActivities(before, after)
	for _, subject := range slices.Sorted(maps.Keys(same)) {
		u.find(TargetsSame, subject, fmt.Sprintf("%d of %d jobs", same[subject][0], same[subject][1]))
	}
}

// activity is one task of a configuration: to scrape a job, run an integration or send to an address.
type activity struct {
	// end and begin are the consequences when the activity ends and when it begins.
	end, begin Kind
	subject    string // an instance
	what       string // a job, an integration or an address
}

// activities is a set of activities. Several configurations of one agent can have the same writers.
type activities map[activity]bool

// compareActivities adds a consequence for each activity that ends or begins. An activity does not end while another
// configuration of the unit still has it.
func (u *unit) compareActivities(before, after activities) {
	others := activities{}
	if !maps.Equal(before, after) {
		for _, o := range u.objects {
			if o.isConfiguration() && !o.changesConfiguration() {
				o.open()
				others.add(o, o.after)
			}
		}
	}
	isSame := func(f activity) bool { return before[f] == after[f] || others[f] }
	for _, f := range before.sorted() {
		if !isSame(f) {
			u.find(f.end, f.subject, f.what)
		}
	}
	for _, f := range after.sorted() {
		if !isSame(f) {
			u.find(f.begin, f.subject, f.what)
		}
	}
}

func (all activities) sorted() []activity {
	return slices.SortedFunc(maps.Keys(all), func(a, b activity) int {
		return strings.Compare(a.subject+"\x00"+a.what, b.subject+"\x00"+b.what)
	})
}

// add adds the activities of the configuration in a Secret.
func (all activities) add(o *object, secret *node) {
	if secret == nil {
		return
	}
	for _, key := range [...]string{agentKey, alloyKey} {
		config := secret.get(key)
		all.instances(o, config)
		all.components(o, config.list(components))
	}
}

// instances adds the activities of instances and integrations.
func (all activities) instances(o *object, config *node) {
	global := config.list("metrics", "global", "remote_write")
	for _, instance := range config.list("metrics", "configs") {
		subject := "instance " + instance.str("name")
		writers := instance.list("remote_write")
		if len(writers) == 0 {
			writers = global
		}
		all.addresses(o, subject, writers)
		for _, job := range instance.list("scrape_configs") {
			all[activity{SeriesEnd, SeriesBegin, subject, "job " + job.nameBy("job_name")}] = true
		}
	}
	for _, instance := range config.list("logs", "configs") {
		subject := "logs instance " + instance.str("name")
		if len(instance.list("clients")) == 0 {
			continue // it is not started
		}
		all.addresses(o, subject, instance.list("clients"))
		for _, job := range instance.list("scrape_configs") {
			all[activity{LogsEnd, LogsBegin, subject, "job " + job.nameBy("job_name")}] = true
		}
	}
	all.integrations(config.get("integrations").read())
}

// components adds the activities of Alloy's components. It names the components that find targets rather than the one
// that scrapes them, because settings decide which targets share a scrape component.
func (all activities) components(o *object, list []*node) {
	for _, c := range list {
		id := c.str("component")
		subject := "component " + id
		switch name := id[:max(strings.LastIndexByte(id, '.'), 0)]; {
		case name == "prometheus.remote_write" || name == "loki.write":
			all.addresses(o, subject, c.list("endpoint"))
		case name == "prometheus.scrape":
			var s secrets // only ids are needed
			if targets := c.get("targets"); targets != nil {
				for _, from := range alloyconfig.Targets(s.value(targets)) {
					all[activity{SeriesEnd, SeriesBegin, "component " + from, ""}] = true
				}
			}
		case strings.HasPrefix(name, "prometheus.exporter."):
			all[activity{SeriesEnd, SeriesBegin, subject, ""}] = true
		case strings.HasPrefix(name, "loki.source."):
			all[activity{LogsEnd, LogsBegin, subject, ""}] = true
		}
	}
}

// addresses adds the addresses that an instance sends to.
func (all activities) addresses(o *object, subject string, writers []*node) {
	for _, w := range writers {
		url := w.get("url")
		if url == nil {
			continue
		}
		what := "to " + o.secrets.text(url)
		for _, tenant := range [...]*node{w.get("tenant_id"), w.get("headers", "X-Scope-OrgID")} {
			if tenant != nil {
				what += " as tenant " + o.secrets.text(tenant)
			}
		}
		all[activity{SendingStops, SendingStarts, subject, what}] = true
	}
}

// integrations adds the integrations. Integrations of the same kind are numbered if they do not name their instance.
func (all activities) integrations(block *node) {
	if block == nil {
		return
	}
	for _, list := range block.fields {
		name, isList := strings.CutSuffix(list.name, "_configs")
		if !isList {
			continue
		}
		for i, item := range list.read().items {
			subject := "integration " + name
			switch instance := item.str("instance"); {
			case instance != "":
				subject += " " + instance
			case len(list.items) > 1:
				subject += fmt.Sprintf(" %d", i+1)
			}
			all[activity{SeriesEnd, SeriesBegin, subject, ""}] = true
		}
	}
}

// agentChange is a change in a configuration, with the object that has the configuration.
type agentChange struct {
	Change
	object *object
}

// agentChange adds the consequences of a change within an instance.
func (u *unit) agentChange(c agentChange) {
	subject, isLogs := c.Path.subject(), c.Path.isLogs()
	for i, step := range c.Path {
		switch step.Field {
		case "external_labels":
			kind := SeriesIdentity
			if isLogs {
				kind = LogsIdentity
			}
			if subject == "" {
				subject = globalSettings
			}
			u.labels(kind, subject, c, i)
			return
		case "relabel_configs", "metric_relabel_configs", "write_relabel_configs", "rule", "write_relabel_config":
			u.rules(isLogs, c, c.Path[:i+1])
			return
		case "pipeline_stages", "stages":
			u.stages(c, i)
			return
		case "static_configs":
			u.find(Targets, c.Path[:i].subject(), "static targets")
			return
		case "honor_labels":
			u.find(SeriesIdentity, subject, step.Field)
			return
		}
		switch {
		case strings.HasSuffix(step.Field, "_sd_configs"):
			u.find(Targets, c.Path[:i].subject(), noun(step.Field, ""))
			return
		case strings.HasPrefix(step.Name, "discovery.") && i == len(c.Path)-2 && c.Path[i+1].Field != "rule":
			u.find(Targets, c.Path[:i+1].subject(), c.Path[i+1].Field)
			return
		}
	}
}

// isLogs reports whether a path leads into a logs instance or a component for logs.
func (p Path) isLogs() bool {
	return len(p) > 1 && p[1].Field == "logs" || len(p) > 2 && strings.HasPrefix(p[2].Name, "loki.")
}

// labels adds a consequence for each changed label of a block. at is the index of the block in the path.
func (u *unit) labels(kind Kind, subject string, c agentChange, at int) {
	if at+1 < len(c.Path) {
		u.find(kind, subject, "external label "+c.Path[at+1].Field)
		return
	}
	for _, side := range [...]*Value{c.Before, c.After} {
		if side == nil {
			continue
		}
		for _, f := range side.node.read().fields {
			u.find(kind, subject, "external label "+f.name)
		}
	}
}

// stages adds a consequence for each changed stage of a log pipeline. at is the index of the list in the path.
func (u *unit) stages(c agentChange, at int) {
	subject := c.Path[:at].subject()
	found := false
	for _, side := range c.changedItems(at) {
		for _, stage := range side {
			for _, f := range stage.read().fields {
				found = true
				switch f.name {
				case "labels", "labeldrop", "labelallow", "static_labels", "tenant":
					u.find(LogsIdentity, subject, "stage "+f.name)
				default:
					u.find(LogsFilter, subject, "stage "+f.name)
				}
			}
		}
	}
	if !found {
		u.find(LogsFilter, subject, "stages")
	}
}

// changedItems returns the changed items of a list, before and after. at is the index of the list in the path.
func (c agentChange) changedItems(at int) (out [2][]*node) {
	for i, top := range [...]*node{c.object.before, c.object.after} {
		isOld := i == 0
		n := nodeAt(top, c.Path[:min(len(c.Path), at+2)], isOld)
		switch {
		case n == nil:
		case len(c.Path) == at+1: // the list as a whole
			out[i] = n.read().items
		default:
			out[i] = []*node{n}
		}
	}
	return out
}

// nodeAt returns the node at a path, before or after the change, or nil.
func nodeAt(n *node, path Path, isOld bool) *node {
	for _, step := range path {
		if n.read() == nil {
			return nil
		}
		if !step.IsItem {
			n = n.get(step.Field)
			continue
		}
		place := step.New
		if isOld {
			place = step.Old
		}
		if place < 0 || place >= len(n.items) {
			return nil
		}
		n = n.items[place]
	}
	return n
}
