// Package catalogue knows what the components of Grafana Alloy take and export, and since which version.
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
// It was made by reflection on Alloy v1.18.1 and agent v0.44.8: see test/prometheus/alloy/generate.
package catalogue

import (
	_ "embed" // components.txt
	"strings"
	"sync"
)

//go:embed components.txt
var components string

// Component describes the arguments and exports of a component.
type Component struct {
	Entry
	// Fields are the arguments and blocks by their path, such as clustering.enabled.
	Fields map[string]Entry
	// Exports are the types of exports by their names.
	Exports map[string]string
}

// Entry is an argument or a block.
type Entry struct {
	// Kind is block, label, or the type of an attribute, such as list(string).
	Kind               string
	Required, Repeated bool
	// Since is the first version that has it, like v1.11.0, or empty for one that all have.
	Since string
}

// Get returns a component by its name, or nil.
func Get(name string) *Component { return all()[name] }

const client = "http_client"

// all returns the components by name.
var all = sync.OnceValue(func() map[string]*Component {
	out := map[string]*Component{}
	clients := map[*Component][]string{} // where their HTTP clients are
	var current *Component
	for line := range strings.Lines(components) {
		line = strings.TrimSuffix(line, "\n")
		words := strings.Fields(line)
		switch {
		case strings.HasPrefix(line, "#"):
		case line[0] != ' ':
			current = &Component{Entry: marked(words[1:]), Fields: map[string]Entry{}, Exports: map[string]string{}}
			out[words[0]] = current
		case words[0] == ">":
			current.Exports[words[1]] = words[2]
		case words[0] == client && (len(words) == 1 || words[1] != "block"):
			clients[current] = append(clients[current], strings.Join(words[1:], ""))
		default:
			e := marked(words[2:])
			e.Kind = words[1]
			current.Fields[words[0]] = e
		}
	}
	for c, places := range clients {
		for _, place := range places {
			c.addClient(place, out[client].Fields)
		}
	}
	delete(out, client)
	return out
})

// addClient adds the arguments of an HTTP client at a place. A component that lists some of them itself takes these,
// and the proxy if it follows redirects, and no others.
func (c *Component) addClient(place string, arguments map[string]Entry) {
	if place != "" {
		place += "."
	}
	_, redirects := c.Fields[place+"follow_redirects"]
	_, tls := c.Fields[place+"tls_config"]
	for name, e := range arguments {
		switch {
		case !redirects && !tls, tls && strings.HasPrefix(name, "tls_config."), redirects && isProxy(name):
			c.Fields[place+name] = e
		}
	}
}

func isProxy(name string) bool {
	return strings.HasPrefix(name, "proxy_") || name == "no_proxy" || name == "http_headers"
}

// marked returns an entry with the marks up to the default.
func marked(words []string) (e Entry) {
	for _, w := range words {
		switch {
		case w == "=":
			return e
		case w == "!":
			e.Required = true
		case w == "*":
			e.Repeated = true
		case w[0] == '@':
			e.Since = w[1:]
		}
	}
	return e
}
