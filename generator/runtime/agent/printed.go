package agent

import (
	"bytes"
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/agentry-dev/agentry/generator/runtime"
)

// Jobs finds the scrape jobs in a text that holds what [Print] returned, at any indentation: a configuration, or the
// manifest of its Secret. It goes by the indentation that Print gives to each part.
func Jobs(text []byte) []runtime.PrintedJob {
	p := printed{base: -1}
	for line := range bytes.Lines(text) {
		p.line++
		rest := strings.TrimLeft(string(line), " ")
		if indent := len(line) - len(rest); strings.TrimSpace(rest) != "" {
			p.read(indent, strings.TrimRight(rest, "\n"))
		}
		if p.inJob {
			p.jobs[len(p.jobs)-1].Bytes += len(line)
		}
	}
	for i := range p.jobs {
		p.jobs[i].Name = jobName(p.ids[i])
	}
	return p.jobs
}

// JobNames returns the one name of a job.
func JobNames(job runtime.Job) []string { return []string{jobName(job)} }

// jobName returns a text that differs for different jobs.
func jobName(job runtime.Job) string {
	return fmt.Sprintf("%t %q %q", job.IsLogs, job.Instance, job.Name)
}

// printed is a reader of a printed configuration. Indentations are counted from that of its sections.
type printed struct {
	line, base int // base is the indentation of the sections; -1 before the first
	isLogs     bool
	instance   string
	inConfigs  bool // in metrics.configs or logs.configs
	inJobs     bool // in the scrape_configs of an instance
	inJob      bool
	jobs       []runtime.PrintedJob
	ids        []runtime.Job // of jobs
}

// The indentation of the parts, below that of their section: of configs, of the items of configs and the fields of
// these, and of jobs and their fields.
const (
	atConfigs  = 2
	atInstance = 4
	inInstance = 6
	atJob      = 8
	inJob      = 10
)

// read reads a line that is not empty.
func (p *printed) read(indent int, text string) {
	if text == "metrics:" || text == "logs:" {
		if p.base < 0 {
			p.base = indent
		}
		if indent == p.base {
			*p = printed{line: p.line, base: p.base, isLogs: text == "logs:", jobs: p.jobs, ids: p.ids}
			return
		}
	}
	depth := indent - p.base
	switch {
	case p.base < 0:
		return
	case depth <= 0:
		p.inConfigs, p.inJobs, p.inJob = false, false, false
	case depth <= atConfigs:
		p.inConfigs, p.inJobs, p.inJob = depth == atConfigs && text == "configs:", false, false
	case !p.inConfigs:
	case depth <= atInstance:
		p.inJobs, p.inJob = false, false
		p.field(&p.instance, strings.TrimPrefix(text, "- "), "name")
	case depth <= inInstance:
		p.inJobs, p.inJob = text == "scrape_configs:", false
	case !p.inJobs:
	case depth <= atJob:
		p.inJob = true
		p.jobs = append(p.jobs, runtime.PrintedJob{Line: p.line})
		p.ids = append(p.ids, runtime.Job{IsLogs: p.isLogs, Instance: p.instance})
		p.field(&p.ids[len(p.ids)-1].Name, strings.TrimPrefix(text, "- "), "job_name")
	case depth == inJob && p.inJob:
		p.field(&p.ids[len(p.ids)-1].Name, text, "job_name")
	}
}

// field reads the value of a field, if the line has it.
func (p *printed) field(into *string, text, name string) {
	for _, key := range [...]string{name, `"` + name + `"`, "'" + name + "'"} {
		if value, found := strings.CutPrefix(text, key+":"); found {
			var s string
			if yaml.Unmarshal([]byte(value), &s) == nil {
				*into = s
			}
		}
	}
}
