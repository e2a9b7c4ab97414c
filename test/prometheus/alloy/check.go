// Package alloy checks files of Grafana Alloy against what its components are known to take, and reads what is in them.
package alloy

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/grafana/river/ast"
	"github.com/grafana/river/parser"
	"golang.org/x/mod/semver"

	"github.com/agentry-dev/agentry/generator/runtimes/alloy/catalogue"
)

// Check returns what a version of Alloy, like v1.18.1, would refuse in a file.
func Check(text []byte, version string) []string {
	parsed, err := parser.ParseFile("config.alloy", text)
	if err != nil {
		return []string{err.Error()}
	}
	c := &checker{version: version, blocks: map[string]*ast.BlockStmt{}, uses: map[string][]string{}}
	c.declare(parsed.Body)
	for _, id := range slices.Sorted(maps.Keys(c.blocks)) {
		c.at = id
		b := c.blocks[id]
		c.body(catalogue.Get(strings.Join(b.Name, ".")), "", b.Body)
	}
	c.cycles()
	return c.found
}

type checker struct {
	version string
	blocks  map[string]*ast.BlockStmt // by id
	uses    map[string][]string       // the components that a component refers to
	at      string                    // the component that is being checked
	found   []string
}

func (c *checker) fail(format string, args ...any) {
	c.found = append(c.found, c.at+": "+fmt.Sprintf(format, args...))
}

// withoutLabel are the blocks that are not components.
var withoutLabel = []string{"http", "livedebugging", "logging", "tracing"}

// forbidden are components that agentry promises never to use: they read custom resources or Secrets in the cluster.
var forbidden = regexp.MustCompile(`^(prometheus\.operator|remote\.kubernetes)\.`)

// declare collects the components.
func (c *checker) declare(body ast.Body) {
	for _, s := range body {
		b, ok := s.(*ast.BlockStmt)
		if !ok {
			c.fail("an attribute is not in a block")
			continue
		}
		c.at = idOf(b)
		name := strings.Join(b.Name, ".")
		known := catalogue.Get(name)
		switch {
		case known == nil:
			c.fail("there is no such component")
		case forbidden.MatchString(name):
			c.fail("is forbidden")
		case !c.has(known.Since):
			c.fail("came with %s", known.Since)
		case slices.Contains(withoutLabel, name) != (b.Label == ""):
			c.fail("a label is wrong here, or missing")
		case c.blocks[c.at] != nil:
			c.fail("appears twice")
		default:
			c.blocks[c.at] = b
		}
	}
}

// has reports whether the version has what came with another.
func (c *checker) has(since string) bool {
	return since == "" || semver.Compare(c.version, since) >= 0
}

// label is the name of the field that is the label of a block.
const label = "<label>"

// matchStage is the path of the stage of loki.process that has other stages.
const matchStage = "stage.match."

// body checks what is in a block of a component. The path of the block ends in a dot, or is empty for the component.
func (c *checker) body(of *catalogue.Component, path string, body ast.Body) {
	seen := map[string]bool{}
	for _, s := range body {
		switch s := s.(type) {
		case *ast.AttributeStmt:
			name := path + s.Name.Name
			known, ok := of.Fields[name]
			switch {
			case !ok || known.Kind == "block":
				c.fail("there is no attribute %s", name)
			case seen[name]:
				c.fail("%s appears twice", name)
			case !c.has(known.Since):
				c.fail("%s came with %s", name, known.Since)
			default:
				c.assign(name, s.Value, known.Kind)
			}
			seen[name] = true
		case *ast.BlockStmt:
			name := path + strings.Join(s.Name, ".")
			if path == matchStage { // holds stages of its own
				name = strings.TrimPrefix(name, matchStage)
			}
			known, ok := of.Fields[name]
			switch {
			case !ok || known.Kind != "block":
				c.fail("there is no block %s", name)
				continue
			case seen[name] && !known.Repeated:
				c.fail("%s appears twice", name)
			case !c.has(known.Since):
				c.fail("%s came with %s", name, known.Since)
			case of.Fields[name+"."+label].Required != (s.Label != ""):
				c.fail("%s: a label is wrong here, or missing", name)
			}
			seen[name] = true
			c.body(of, name+".", s.Body)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(of.Fields)) {
		rest, inside := strings.CutPrefix(name, path)
		if inside && rest != label && !strings.Contains(rest, ".") && of.Fields[name].Required && !seen[name] {
			c.fail("%s is missing", name)
		}
	}
}

// cycles refuses components that depend on themselves.
func (c *checker) cycles() {
	const open, done = 1, 2
	state := map[string]int{}
	var visit func(id string)
	visit = func(id string) {
		state[id] = open
		for _, to := range c.uses[id] {
			switch state[to] {
			case open:
				c.at = id
				c.fail("depends on itself through %s", to)
			case 0:
				visit(to)
			}
		}
		state[id] = done
	}
	for _, id := range slices.Sorted(maps.Keys(c.blocks)) {
		if state[id] == 0 {
			visit(id)
		}
	}
}
