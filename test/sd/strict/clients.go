//go:build oracle

package strict

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// confirm asks the real clients.
func confirm(status int, header http.Header, body []byte, groups []Group) error {
	clients, err := clients()
	if err != nil {
		return err
	}
	want := sorted(groups)
	for _, c := range clients {
		verdict, err := c.ask(answer{status, header, body})
		switch {
		case err != nil:
			return fmt.Errorf("ask %s: %w", c.name, err)
		case verdict.Refused != "":
			return fmt.Errorf("%s refuses it: %s", c.name, verdict.Refused)
		}
		if got := sorted(verdict.read()); !slices.Equal(want, got) {
			return fmt.Errorf("%s reads\n%s\nnot\n%s", c.name, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
	return nil
}

// sorted formats groups for comparison. It leaves out labels without a value, which only some clients keep for a while,
// and the labels with the source of a document, which clients set themselves.
func sorted(groups []Group) []string {
	out := make([]string, 0, len(groups))
	for _, g := range groups {
		labels := maps.Clone(g.Labels)
		maps.DeleteFunc(labels, func(name, value string) bool { return value == "" || name == "__meta_url" })
		out = append(out, fmt.Sprintf("%q %q", g.Targets, labels)) // fmt sorts maps
	}
	slices.Sort(out)
	return out
}

// answer and verdict are copies of the types in test/prometheus/clients, which is another module.
type answer struct {
	Status int         `json:"status"`
	Header http.Header `json:"header"`
	Body   []byte      `json:"body"`
}

type verdict struct {
	Refused string `json:"refused"`
	Groups  []struct {
		Targets []map[string]string `json:"targets"`
		Labels  map[string]string   `json:"labels"`
	} `json:"groups"`
}

func (v verdict) read() []Group {
	groups := make([]Group, len(v.Groups))
	for i, g := range v.Groups {
		groups[i].Labels = g.Labels
		for _, t := range g.Targets {
			groups[i].Targets = append(groups[i].Targets, t["__address__"])
		}
	}
	return groups
}

// client is a running process of test/prometheus/clients.
type client struct {
	name string

	mu  sync.Mutex
	in  *json.Encoder
	out *json.Decoder
}

func (c *client) ask(a answer) (v verdict, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.in.Encode(a); err != nil {
		return v, err
	}
	return v, c.out.Decode(&v)
}

const (
	current = "prometheus-current"
	agents  = "prometheus-2.48"
)

// clients are started when first asked, so that tests need not start them. They end with this process, because their
// input ends.
var clients = sync.OnceValues(func() ([]*client, error) {
	var all []*client
	for _, name := range []string{current, agents} {
		c, err := start(name)
		if err != nil {
			return nil, fmt.Errorf("start %s: %w", name, err)
		}
		all = append(all, c)
	}
	return all, nil
})

func start(name string) (*client, error) {
	root, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}").Output()
	if err != nil {
		return nil, err
	}
	program := exec.Command("go", "run", ".")
	program.Dir = filepath.Join(strings.TrimSpace(string(root)), "test", "prometheus", "clients", name)
	program.Stderr = os.Stderr
	in, err := program.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := program.StdoutPipe()
	if err != nil {
		return nil, err
	}
	return &client{name: name, in: json.NewEncoder(in), out: json.NewDecoder(out)}, program.Start()
}
