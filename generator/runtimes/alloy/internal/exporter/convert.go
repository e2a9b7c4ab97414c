package exporter

import (
	"strconv"
	"time"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/internal/alloynames"
	"github.com/agentry-dev/agentry/generator/model"
)

// to sets an argument or blocks of another name. A list of mappings becomes several blocks.
func to(name string) func(*arguments, model.Value) {
	return func(a *arguments, v model.Value) { a.set(name, v) }
}

// toText sets an argument that is YAML in a text.
func toText(name string) func(*arguments, model.Value) {
	return func(a *arguments, v model.Value) {
		a.Texts = append(a.Texts, Text{name, asYAML(v, a.redact)})
	}
}

// blackboxConfig sets the modules of blackbox. Pods of Alloy are not root, and only root may send any ping.
func (a *arguments) blackboxConfig(v model.Value) {
	toText("config")(a, v)
	config, _ := v.(model.Map)
	modules, _ := config.Get("modules").(model.Map)
	for _, m := range modules {
		if module, _ := m.Value.(model.Map); module.Get("prober") == model.String("icmp") {
			a.say(diag.Warning, ".modules."+m.Key+".prober", "run the pods as root: spec.securityContext.runAsUser: 0",
				"pods of Alloy are not root: pings need a node whose net.ipv4.ping_group_range has the group of the "+
					"pods")
		}
	}
}

// probeTimeoutOffset sets a time, which is a number of seconds in the agent.
func (a *arguments) probeTimeoutOffset(v model.Value) {
	number, _ := v.(model.Number)
	seconds, err := strconv.ParseFloat(string(number), 64)
	if err != nil {
		a.say(diag.Error, "", "write the number", "Alloy does not take the text of a variable for a duration")
		return
	}
	a.set("probe_timeout_offset", model.String(time.Duration(seconds*float64(time.Second)).String()))
}

// labelled returns a mapping as a block with a label.
func labelled(label string, m model.Map, without ...string) model.Map {
	out := model.Map{{Key: LabelKey, Value: model.String(label)}}
	for _, p := range m {
		if len(without) == 0 || p.Key != without[0] {
			out = append(out, p)
		}
	}
	return out
}

// snmpTargets sets the targets of snmp. Their names are labels of blocks, like the names of walk_params.
func (a *arguments) snmpTargets(v model.Value) {
	list, _ := v.(model.List)
	var blocks model.List
	for _, item := range list {
		target, _ := item.(model.Map)
		block := labelled(alloynames.Label(plain(target.Get("name"))), target, "name")
		for i := range block {
			if block[i].Key == "walk_params" {
				block[i].Value = model.String(alloynames.Label(plain(block[i].Value)))
			}
		}
		blocks = append(blocks, block)
	}
	a.set("target", blocks)
}

func (a *arguments) walkParams(v model.Value) {
	all, _ := v.(model.Map)
	var blocks model.List
	for _, p := range all {
		fields, _ := p.Value.(model.Map)
		blocks = append(blocks, labelled(alloynames.Label(p.Key), fields))
	}
	a.set("walk_param", blocks)
}

func plain(v model.Value) string {
	s, _ := v.(model.String)
	return string(s)
}

// cloudwatchDiscovery sets the jobs that discover resources of AWS.
func (a *arguments) cloudwatchDiscovery(v model.Value) {
	discovery, _ := v.(model.Map)
	for _, p := range discovery {
		switch p.Key {
		case "exported_tags":
			a.set("discovery_exported_tags", p.Value)
		case "jobs":
			a.set("discovery", a.cloudwatchJobs(p.Value, func(_ int, m model.Map) model.Map { return m }))
		default:
			a.set("discovery."+p.Key, p.Value)
		}
	}
}

// cloudwatchStatic sets the jobs for resources that are written out. The name of such a job is a label of its samples,
// so that it must stay as it is.
func (a *arguments) cloudwatchStatic(v model.Value) {
	a.set("static", a.cloudwatchJobs(v, func(i int, m model.Map) model.Map {
		name := plain(m.Get("name"))
		if !alloynames.IsIdentifier(name) {
			a.say(diag.Error, "["+strconv.Itoa(i)+"].name", "use letters, digits and underscores",
				"is the label of a block in Alloy, which can have only letters, digits and underscores")
			name = alloynames.Label(name)
		}
		return labelled(name, m, "name")
	}))
}

// cloudwatchJobs returns jobs with the names of Alloy, each of them after f.
func (a *arguments) cloudwatchJobs(v model.Value, f func(int, model.Map) model.Map) (out model.List) {
	jobs, _ := v.(model.List)
	for i, item := range jobs {
		job, _ := item.(model.Map)
		var block model.Map
		for _, p := range f(i, job) {
			switch p.Key {
			case "roles":
				block.Set("role", p.Value)
			case "metrics":
				block.Set("metric", p.Value)
			case "custom_tags", "search_tags":
				block.Set(p.Key, pairs(p.Value, "key"))
			case "dimensions":
				block.Set(p.Key, pairs(p.Value, "name"))
			default:
				block.Set(p.Key, p.Value)
			}
		}
		out = append(out, block)
	}
	return out
}

// pairs returns the map that a list of keys with their values stands for.
func pairs(v model.Value, key string) model.Map {
	list, _ := v.(model.List)
	out := model.Map{}
	for _, item := range list {
		m, _ := item.(model.Map)
		out.Set(plain(m.Get(key)), m.Get("value"))
	}
	return out
}
