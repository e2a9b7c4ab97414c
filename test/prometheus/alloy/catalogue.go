// Package alloy checks files of Grafana Alloy against what its components are known to take, and reads what is in them.
//
// components.txt has a line for each component, then a line for each of its arguments, blocks and exports, which begins
// with a space:
//
//	prometheus.scrape            the component
//	 http_client                 the arguments of an HTTP client, at its top or in the named block
//	 clustering block            a block: ! is required, * may be repeated
//	 clustering.enabled bool !   an attribute with its type; "= value" is the default
//	 x string @v1.11.0 ~         since that version of Alloy; ~ is not in the agent's Flow mode
//	 > targets list(target)      an export
//
// It was made by reflection on Alloy v1.18.1 and agent v0.44.8: see the command generate.
package alloy

import (
	_ "embed" // components.txt
	"strings"
	"sync"
)

//go:embed components.txt
var components string

// component is what a component takes and exports.
type component struct {
	entry
	fields  map[string]entry // by path
	exports map[string]string
}

// entry is an argument or a block.
type entry struct {
	kind               string // block, label, or the type of an attribute
	required, repeated bool
	since              string
	notInFlow          bool
}

// catalogue returns the components by name.
var catalogue = sync.OnceValue(func() map[string]*component {
	out := map[string]*component{}
	var current *component
	for line := range strings.Lines(components) {
		line = strings.TrimSuffix(line, "\n")
		words := strings.Fields(line)
		switch {
		case strings.HasPrefix(line, "#"):
		case line[0] != ' ':
			current = &component{entry: marked(words[1:]), fields: map[string]entry{}, exports: map[string]string{}}
			out[words[0]] = current
		case words[0] == ">":
			current.exports[words[1]] = words[2]
		case words[0] == "http_client":
			prefix := ""
			if len(words) > 1 {
				prefix = words[1] + "."
			}
			for name, e := range out["http_client"].fields {
				current.fields[prefix+name] = e
			}
		default:
			e := marked(words[2:])
			e.kind = words[1]
			current.fields[words[0]] = e
		}
	}
	delete(out, "http_client")
	return out
})

// marked returns an entry with the marks up to the default.
func marked(words []string) (e entry) {
	for _, w := range words {
		switch {
		case w == "=":
			return e
		case w == "!":
			e.required = true
		case w == "*":
			e.repeated = true
		case w == "~":
			e.notInFlow = true
		case w[0] == '@':
			e.since = w[1:]
		}
	}
	return e
}
