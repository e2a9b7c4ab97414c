package alloy

import (
	"path"
	"strconv"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/internal/alloynames"
	"github.com/agentry-dev/agentry/generator/model"
	"github.com/agentry-dev/agentry/generator/runtimes"
	"github.com/agentry-dev/agentry/generator/runtimes/alloy/internal/promtail"
	"github.com/agentry-dev/agentry/generator/runtimes/alloy/internal/stages"
	"github.com/agentry-dev/agentry/generator/runtimes/alloy/syntax"
)

// logs are the components of one LogsInstance.
type logs struct {
	*file
	instance  string // its label
	of        diag.Object
	positions string // the file of the agent that this instance has read so far
	period    string // between two looks for new files
	clients   []syntax.Expr
}

// writeLogs writes the components of one LogsInstance. Without a client it has none, as the agent does not start it
// then.
func writeLogs(f *file, directory string, i *model.LogsInstance) {
	if len(i.Clients) == 0 {
		return
	}
	l := logs{file: f, instance: alloynames.Label(i.Name), of: i.Origin.Object,
		positions: path.Join(directory, i.Name+".yml")}
	if i.TargetConfig != nil {
		l.period = i.TargetConfig.SyncPeriod
	}
	for n := range i.Clients {
		l.client(n, &i.Clients[n])
	}
	for _, job := range i.ScrapeConfigs {
		l.podLogs(job)
	}
	for n := range i.Additional {
		l.written(&i.Additional[n])
	}
}

// client writes the component that sends to one client. Clients share none, because external labels belong to a
// component.
func (l *logs) client(n int, c *model.LogsClient) {
	name := l.instance
	if n > 0 {
		name += "__" + strconv.Itoa(n)
	}
	b := syntax.Block{Name: "loki.write", Label: name}
	if labels := expandedLabels(c.ExternalLabels); len(labels) > 0 {
		b.Set("external_labels", syntax.Object(pairs(labels)))
	}
	b.Add(l.endpoint(c))
	l.file.instances = append(l.file.instances, component{Block: b})
	l.clients = append(l.clients, syntax.Expr("loki.write."+name+".receiver"))
}

func (l *logs) endpoint(c *model.LogsClient) syntax.Block {
	b := syntax.Block{Name: "endpoint"}
	l.live(&b, "name", c.Name)
	l.setURL(&b, "url", c.URL.Text())
	l.live(&b, "tenant_id", c.TenantID)
	l.duration(&b, "batch_wait", c.BatchWait)
	if c.BatchSize != 0 {
		b.Set("batch_size", syntax.String(strconv.FormatInt(max(c.BatchSize, 1), 10)+"B"))
	}
	l.duration(&b, "remote_timeout", c.Timeout)
	if c.Backoff != nil {
		l.duration(&b, "min_backoff_period", c.Backoff.MinPeriod)
		l.duration(&b, "max_backoff_period", c.Backoff.MaxPeriod)
		setInt(&b, "max_backoff_retries", c.Backoff.MaxRetries)
	}
	l.file.client(&b, &model.HTTPClient{Proxy: model.Proxy{ProxyURL: model.Expanded(string(c.ProxyURL))},
		HTTPAuth: c.HTTPAuth, TLS: c.TLS})
	return b
}

// podLogs writes the components of a PodLogs: its targets, the files that these name, what reads the files and what
// changes their lines. Alloy keeps the positions of a component that reads files in a folder of the component's name,
// so this name must never depend on anything but the names of the instance and the job.
func (l *logs) podLogs(job *model.LogsScrapeConfig) {
	name := l.instance + "__" + alloynames.Label(job.JobName)
	to := l.process(name, stages.Blocks(job.Stages))
	l.readFiles(name, l.targetsOfNode(job), to, &promtail.Job{}, nil)
}

// written writes the components of a hand-written job. What cannot be written has been reported.
func (l *logs) written(raw *model.Raw) {
	job, _ := promtail.Read(raw, expanded)
	name := l.instance + "__" + alloynames.Label(job.Name)
	to := l.process(name, job.Stages)
	part := []runtimes.Span{{Instance: l.of, Name: raw.Name(), Origin: raw.Origin, HandWritten: true}}
	if job.Journal != nil {
		l.journal(name, job, to, part)
		return
	}
	var targets []syntax.Expr
	if len(job.Static) > 0 {
		targets = append(targets, syntax.Lines("[", job.Static, "]"))
	}
	for _, k := range job.Kubernetes {
		if k.Role == "pod" && len(k.Selectors) == 0 { // only then, as in the agent
			targets = append(targets, l.kubernetes(k, podsOfNode()))
		} else {
			targets = append(targets, l.kubernetes(k))
		}
	}
	found := concat(targets)
	if len(job.Relabel) > 0 {
		found = l.relabelled(name, found, job.Relabel, part)
		part = nil
	}
	l.readFiles(name, found, to, job, part)
}

// journal writes the components that read the journal of the node.
func (l *logs) journal(name string, job *promtail.Job, to syntax.Expr, part []runtimes.Span) {
	b := syntax.Block{Name: "loki.source.journal", Label: name}
	b.Set("forward_to", to)
	b.Attrs = append(b.Attrs, job.Journal...)
	if len(job.Relabel) > 0 {
		rules := syntax.Block{Name: "loki.relabel", Label: name}
		rules.Set("forward_to", "[]") // only its rules are used
		for _, r := range job.Relabel {
			rules.Add(rule("rule", r))
		}
		l.file.targets = append(l.file.targets, component{Block: rules})
		b.Set("relabel_rules", syntax.Expr("loki.relabel."+name+".rules"))
	}
	legacy := syntax.Block{Name: "legacy_position"}
	legacy.Set("file", syntax.String(l.positions))
	legacy.Set("name", syntax.String(job.Name))
	b.Add(legacy)
	l.file.instances = append(l.file.instances, component{Block: b, parts: part})
}

// process writes the component that runs a pipeline, and returns where lines are sent to.
func (l *logs) process(name string, pipeline []*syntax.Block) syntax.Expr {
	if len(pipeline) == 0 {
		return syntax.List(l.clients...)
	}
	b := syntax.Block{Name: "loki.process", Label: name, Blocks: pipeline}
	b.Set("forward_to", syntax.List(l.clients...))
	l.file.instances = append(l.file.instances, component{Block: b})
	return syntax.List(syntax.Expr("loki.process." + name + ".receiver"))
}

// readFiles writes the components that find and read the files of targets. Where the agent has read them before, it
// goes on from there: it kept positions by path, for the whole instance. part names the objects that the component
// stands for.
func (l *logs) readFiles(name string, targets, to syntax.Expr, job *promtail.Job, part []runtimes.Span) {
	found := syntax.Block{Name: "local.file_match", Label: name}
	found.Set("path_targets", targets)
	setString(&found, "sync_period", goDuration(l.period))
	read := syntax.Block{Name: "loki.source.file", Label: name}
	read.Set("targets", syntax.Expr("local.file_match."+name+".targets"))
	read.Set("forward_to", to)
	read.Attrs = append(read.Attrs, job.File...)
	read.Set("legacy_positions_file", syntax.String(l.positions))
	if job.Decompression != nil {
		read.Add(*job.Decompression)
	}
	l.file.instances = append(l.file.instances, component{Block: read, parts: part})
	l.file.instances = append(l.file.instances, component{Block: found})
}

// targetsOfNode returns the targets of a PodLogs after its rules. Instances that select one PodLogs share them.
func (l *logs) targetsOfNode(job *model.LogsScrapeConfig) syntax.Expr {
	name := alloynames.Label(job.JobName)
	part := runtimes.Span{Instance: l.of, Name: job.JobName, Origin: job.Origin}
	if at, known := l.file.relabelled[name]; known {
		c := &l.file.targets[at]
		c.parts = append(c.parts, part)
		return syntax.Expr("discovery.relabel." + name + ".output")
	}
	targets := l.kubernetes(job.Kubernetes, podsOfNode())
	l.file.relabelled[name] = len(l.file.targets)
	return l.relabelled(name, targets, job.Relabel, []runtimes.Span{part})
}

// relabelled writes the rules for some targets, and returns those that are left.
func (l *logs) relabelled(name string, targets syntax.Expr, rules []*model.Relabel, part []runtimes.Span) syntax.Expr {
	b := syntax.Block{Name: "discovery.relabel", Label: name}
	b.Set("targets", targets)
	for _, r := range rules {
		b.Add(rule("rule", r))
	}
	if l.regexes.written(rules, hostLabel) {
		b.Blocks = append(b.Blocks, ofHost()...)
	}
	l.file.targets = append(l.file.targets, component{Block: b, parts: part})
	return syntax.Expr("discovery.relabel." + name + ".output")
}

// node returns the name of the node or, if the variable is not set, of the host, like the agent. An empty name would
// select the pods that are on no node, and nobody would notice.
func node() syntax.Expr {
	return syntax.Call("coalesce", syntax.Env("HOSTNAME"), "constants.hostname")
}

// podsOfNode returns the selector for the pods of the node, which the agent adds too.
func podsOfNode() *syntax.Block {
	b := &syntax.Block{Name: "selectors"}
	b.Set("role", syntax.String("pod"))
	b.Set("field", syntax.Concat(syntax.String("spec.nodeName="), node()))
	return b
}

// hostLabel is the label by which the agent drops the targets of other nodes, and ownLabel a label to compare it with.
const (
	hostLabel = "__host__"
	ownLabel  = "__agentry_node__"
)

// ofHost returns the rules that drop targets with another host than this one.
func ofHost() []*syntax.Block {
	set := func(name string) syntax.Block {
		b := rule("rule", &model.Relabel{TargetLabel: name})
		b.Set("replacement", node())
		return b
	}
	absent := rule("rule", &model.Relabel{SourceLabels: []string{hostLabel}, Regex: model.Present(""),
		TargetLabel: hostLabel})
	absent.Set("replacement", node())
	var all syntax.Block
	all.Add(set(ownLabel))
	all.Add(absent)
	all.Add(rule("rule", &model.Relabel{SourceLabels: []string{hostLabel}, TargetLabel: ownLabel, Action: "keepequal"}))
	return all.Blocks
}
