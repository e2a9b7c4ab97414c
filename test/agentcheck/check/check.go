// Package check answers whether Grafana Agent v0.44.8 in static mode would run a
// configuration, with the agent's own code: it loads the text as the agent's main does and
// then makes the checks that the agent makes only while it starts. It opens no port and
// dials nobody, and a file that is missing here is taken to be in the pod: what depends on
// the contents of files, on clusters and on brokers is not seen.
//
// Errors are what the agent refuses, or dies of. Warnings are what it accepts although it
// will not do what was meant.
package check

import (
	"flag"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/go-kit/log"
	"github.com/grafana/agent/static/config"

	// As in the agent's main: service discoveries and integrations register themselves.
	_ "github.com/grafana/agent/static/integrations/install"
	_ "github.com/grafana/loki/clients/pkg/promtail/discovery/consulagent"
	_ "github.com/prometheus/prometheus/discovery/install"
)

// Level is how bad a finding is.
type Level string

// The levels.
const (
	Error   Level = "error"
	Warning Level = "warning"
)

// Rule names what was checked.
type Rule string

// The rules.
const (
	Variable    Rule = "variable"     // the reloader finds no value for a $(NAME)
	Load        Rule = "load"         // flags, syntax, fields, and all that the agent validates while loading
	Panic       Rule = "panic"        // the agent's code panics
	Start       Rule = "start"        // an integration cannot be identified or made
	Unique      Rule = "unique"       // an integration, or its instance, is there twice
	Autoscrape  Rule = "autoscrape"   // an integration cannot be scraped as it says
	LogsClients Rule = "logs-clients" // the clients of a logs config
	LogsJob     Rule = "logs-job"     // a job of a logs config: its target and its stages
	Merged      Rule = "merged"       // metrics instances that do not go together in one group
	LabelName   Rule = "label-name"   // names of labels that nobody accepts later
	Path        Rule = "path"         // an integration cannot be reached by HTTP
	Reference   Rule = "reference"    // a logs instance that is not there
	Destination Rule = "destination"  // what is collected goes nowhere
)

// Finding is one reason why the agent would not run a configuration, or not as meant.
type Finding struct {
	Level   Level
	Rule    Rule
	Message string
}

func (f Finding) String() string {
	return fmt.Sprintf("%s[%s]: %s", f.Level, f.Rule, f.Message)
}

// Pod is what a configuration meets where it runs.
type Pod struct {
	// Reloader is the environment of the config reloader, which answers $(NAME).
	Reloader map[string]string
	// Agent is the environment of the agent, which answers ${NAME}.
	Agent map[string]string
	// Args are the agent's arguments.
	Args []string
}

// DefaultPod is the pod as the operator makes it.
func DefaultPod() Pod {
	env := map[string]string{
		"POD_NAME":          "agent-0",
		"HOSTNAME":          "agent-0",
		"SHARD":             "0",
		"SHARDS":            "1",
		"AGENT_DEPLOY_MODE": "operator",
	}
	reloader := map[string]string{"STATEFULSET_ORDINAL_NUMBER": "0"}
	for name, value := range env {
		reloader[name] = value
	}
	return Pod{
		Reloader: reloader,
		Agent:    env,
		Args: []string{
			"-config.file=/var/lib/grafana-agent/config/agent.yml",
			"-config.expand-env=true",
			"-server.http.address=0.0.0.0:8080",
			"-enable-features=integrations-next",
		},
	}
}

// Check tells what is wrong with a configuration in a pod. The agent's code reads the
// environment of the process, so only one check runs at a time.
func Check(text string, pod Pod) []Finding {
	running.Lock()
	defer running.Unlock()
	defer setEnvironment(pod.Agent)()

	c := &checker{log: log.NewNopLogger()}
	text, missing := Reload(text, pod.Reloader)
	for _, reference := range missing {
		c.error(Variable, "the config reloader finds no variable for %s", reference)
	}
	if len(missing) > 0 {
		return c.findings
	}
	c.step(func() { c.load(text, pod.Args) })
	if c.cfg != nil {
		c.step(c.metrics)
		c.step(c.logs)
		c.step(c.integrations)
	}
	return c.findings
}

var running sync.Mutex

// setEnvironment makes env the whole environment, and returns what undoes that.
func setEnvironment(env map[string]string) (restore func()) {
	before := os.Environ()
	os.Clearenv()
	for name, value := range env {
		os.Setenv(name, value)
	}
	return func() {
		os.Clearenv()
		for _, e := range before {
			name, value, _ := strings.Cut(e, "=")
			os.Setenv(name, value)
		}
	}
}

type checker struct {
	log      log.Logger
	cfg      *config.Config // nil until it is loaded
	findings []Finding
}

func (c *checker) error(rule Rule, format string, args ...any) {
	c.add(Error, rule, format, args)
}

func (c *checker) warn(rule Rule, format string, args ...any) {
	c.add(Warning, rule, format, args)
}

// add adds a finding, once and on one line, which errors in YAML are not.
func (c *checker) add(level Level, rule Rule, format string, args []any) {
	message := strings.Join(strings.Fields(fmt.Sprintf(format, args...)), " ")
	f := Finding{level, rule, message}
	if !slices.Contains(c.findings, f) {
		c.findings = append(c.findings, f)
	}
}

// step runs one step; what panics here panics in the agent, too.
func (c *checker) step(run func()) {
	defer func() {
		if p := recover(); p != nil {
			c.error(Panic, "%v", p)
		}
	}()
	run()
}

// reloaderVariable is what the config reloader replaces (Thanos's reloader, expandEnv).
var reloaderVariable = regexp.MustCompile(`\$\(([a-zA-Z_0-9]+)\)`)

// Reload substitutes variables as the config reloader does, which knows no escape. It hands
// nothing on that refers to missing ones.
func Reload(text string, env map[string]string) (out string, missing []string) {
	out = reloaderVariable.ReplaceAllStringFunc(text, func(reference string) string {
		value, ok := env[reference[2:len(reference)-1]]
		if !ok {
			missing = append(missing, reference)
		}
		return value
	})
	return out, missing
}

// load does what the agent does with its arguments and its file, but for the file, which
// is at hand.
func (c *checker) load(text string, args []string) {
	fs := flag.NewFlagSet("agent", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	cfg, err := config.LoadFromFunc(fs, args, func(_, fileType string, expandEnv bool, into *config.Config) error {
		if fileType != "yaml" {
			return fmt.Errorf("unknown file type %q", fileType)
		}
		return config.LoadBytes([]byte(text), expandEnv, into)
	})
	if err != nil {
		c.error(Load, "%v", err)
		return
	}
	c.cfg = cfg
}
