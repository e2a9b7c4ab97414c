// Package printed finds the components that stand for scrape jobs in a printed configuration.
package printed

import (
	"bytes"
	"regexp"

	"github.com/agentry-dev/agentry/generator/internal/alloynames"
	"github.com/agentry-dev/agentry/generator/runtime"
)

// The components that stand for a job: the rules of its targets, or what reads its files if it has no rules.
const (
	rulesOf   = "discovery.relabel "
	readersOf = "loki.source.file "
)

var jobStart = regexp.MustCompile(`^([ \t]*)((?:discovery\.relabel|loki\.source\.file)) "([A-Za-z0-9_]+)" \{$`)

// Jobs finds the components that stand for jobs in a text that holds a printed configuration, at any indentation: the
// configuration, or the manifest of its Secret. The name is the component's with its label.
func Jobs(text []byte) (out []runtime.PrintedJob) {
	line, end := 0, []byte(nil) // end is the last line of the component
	for l := range bytes.Lines(text) {
		line++
		trimmed := bytes.TrimRight(l, "\n")
		if end == nil {
			start := jobStart.FindSubmatch(trimmed)
			if start == nil {
				continue
			}
			out = append(out, runtime.PrintedJob{Name: string(start[2]) + " " + string(start[3]), Line: line})
			end = append(bytes.Clone(start[1]), '}')
		}
		out[len(out)-1].Bytes += len(l)
		if bytes.Equal(trimmed, end) {
			end = nil
		}
	}
	return out
}

// JobNames returns the names of the components that can stand for a job, the best one first.
func JobNames(job runtime.Job) []string {
	name, instance := alloynames.Label(job.Name), alloynames.Label(job.Instance)
	if job.IsLogs {
		return []string{rulesOf + name, rulesOf + instance + "__" + name, readersOf + instance + "__" + name}
	}
	return []string{rulesOf + name, rulesOf + name + "__" + instance, rulesOf + "additional__" + instance + "__" + name}
}
