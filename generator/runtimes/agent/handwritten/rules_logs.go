package handwritten

import (
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/agentry-dev/agentry/internal/lazyregexp"
)

// logsJob checks that a scrape configuration of Promtail has something to read from.
func logsJob(o object) {
	hasTarget := false
	var targets []string
	for i := 0; i+1 < len(o.node.Content); i += 2 {
		key := o.node.Content[i].Value
		if of := o.typ.Fields[key]; strings.HasPrefix(of, "scrapeconfig.") && key != "decompression" {
			targets = append(targets, key)
		} else if strings.HasSuffix(key, "_sd_configs") || key == "static_configs" || live(o.node.Content[i]) {
			hasTarget = true
		}
	}
	if !hasTarget && len(targets) == 0 {
		o.wrong(o.node, "write static_configs, a service discovery, or another target as journal",
			"the job has nothing to read from")
	}
	if len(targets) > 0 && hasTarget || len(targets) > 1 {
		o.warn(o.at(targets[len(targets)-1]), "make it a job of its own",
			"%s: a job reads from one kind of target only, and the agent ignores the others", targets[len(targets)-1])
	}
	pipelineStages(o.checker, o.get("pipeline_stages"))
}

// jobNames compares the names of jobs, which must be unique for some kinds of targets.
func (c *checker) jobNames(items []*yaml.Node) {
	seen := map[string]*yaml.Node{}
	for _, job := range items {
		name := child(job, "job_name")
		if name == nil || name.Kind != yaml.ScalarNode {
			continue
		}
		switch before := seen[name.Value]; {
		case before == nil:
		case child(before, "loki_push_api") != nil && child(job, "loki_push_api") != nil:
			c.wrong(name, "", "the job_name appears twice, which jobs with loki_push_api do not allow")
		case readsFiles(before) && readsFiles(job):
			c.warn(name, "give each job a name of its own",
				"the job_name appears twice: the agent runs only the last of the jobs")
		}
		seen[name.Value] = job
	}
}

// readsFiles reports whether a job reads the files that a discovery finds.
func readsFiles(job *yaml.Node) bool {
	for i := 0; i+1 < len(job.Content); i += 2 {
		key := job.Content[i].Value
		if key == "static_configs" || strings.HasSuffix(key, "_sd_configs") && key != "docker_sd_configs" {
			return true
		}
	}
	return false
}

func journal(o object) {
	if n := o.get("max_age"); n != nil {
		if text, known := literal(n); known && text != "" {
			o.goDuration(n, text, o.name("max_age"))
		}
	}
	text, known := o.text("matches", "")
	if !known {
		return
	}
	for _, match := range strings.Fields(text) {
		if strings.Count(match, "=") != 1 {
			o.wrong(o.get("matches"), "", "%s: must be pairs like _SYSTEMD_UNIT=foo.service, with spaces between them",
				o.name("matches"))
			return
		}
	}
}

func syslog(o object) {
	protocol, known := o.text("listen_protocol", "")
	tls, ok := o.sub("tls_config")
	if !ok || !known || protocol == "udp" {
		return
	}
	if (tls.given("cert_file") || tls.given("key_file") || tls.given("ca_file")) &&
		(!tls.given("cert_file") || !tls.given("key_file")) {
		o.wrong(tls.node, "", "%s needs cert_file and key_file", tls.path)
	}
}

// kafkaVersion matches the versions that Kafka's client accepts.
var kafkaVersion = lazyregexp.New(`^(0\.\d+\.\d+\.\d+|[1-9]\d*\.\d+\.\d+)$`)

func kafka(o object) {
	if text, known := o.text("version", ""); known && text != "" && !kafkaVersion.MatchString(text) {
		o.wrong(o.get("version"), "", "%s: must be a version of Kafka, like 2.2.1", o.name("version"))
	}
}

func kafkaAuthentication(o object) {
	kind, known := o.text("type", "")
	sasl, _ := o.sub("sasl_config")
	if !known || kind != "sasl" {
		return
	}
	mechanisms := []string{"PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"}
	if sasl.node == nil || !sasl.has("mechanism") {
		o.wrong(o.node, "", "%s.sasl_config.mechanism is missing: must be %s", o.path, alternatives(mechanisms))
		return
	}
	if text, known := sasl.text("mechanism", ""); known && !slices.Contains(mechanisms, text) {
		o.wrong(sasl.get("mechanism"), o.suggestion(text, mechanisms), "%s: must be %s", sasl.name("mechanism"),
			alternatives(mechanisms))
	}
}

func gcplog(o object) {
	if kind, known := o.text("subscription_type", "pull"); known && kind != "push" {
		o.require([]string{"project_id"})
	}
}
