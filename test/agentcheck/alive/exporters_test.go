package alive

import (
	"fmt"
	"maps"
	"net"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestExportersGiveTheSameSeries runs an exporter of each kind that needs no service of a cloud in the agent and in its
// Flow mode, Alloy's ancestor, where the versions of exporters are the same. Both scrape themselves, and a Prometheus
// gets the same series of each.
func TestExportersGiveTheSameSeries(t *testing.T) {
	t.Parallel()
	prometheus := startPrometheus(t, "{}")
	const listening, alsoListening = "127.0.0.1:19125", "127.0.0.1:19126"
	run := func(program, statsd string, options ...string) *manifests {
		m := newManifests(t, "exporters", prometheus.address, append(options, "--secrets", "plaintext")...)
		m.replace(t, "PROGRAM", program)
		m.replace(t, "STATSD", statsd)
		return m
	}
	static, native := run("agent", listening), run("alloy", alsoListening, "--runtime", "alloy")
	configs, _ := static.render(t)
	startAgent(t, "the agent", configs[integrations])
	configs, _ = native.render(t)
	startFlow(t, configs[integrations], t.TempDir())
	for _, address := range []string{listening, alsoListening} {
		send(t, address, "orders:7|c")
	}
	eventually(t, "the same series", func() error {
		want, err := exported(prometheus.address, "agent")
		if err != nil {
			return err
		}
		got, err := exported(prometheus.address, "alloy")
		if err != nil {
			return err
		}
		// as docs/alloy-reference.md says
		got = slices.DeleteFunc(got, func(s string) bool {
			return strings.HasPrefix(s, `__name__="apache_http_build_info"`)
		})
		jobs := map[string]bool{}
		for _, s := range want {
			jobs[ofJob.FindString(s)] = true
		}
		if len(jobs) < 18 {
			return fmt.Errorf("only %d jobs: %s", len(jobs), slices.Sorted(maps.Keys(jobs)))
		}
		if d := cmp.Diff(want, got); d != "" {
			return fmt.Errorf("-agent +alloy:\n%s", d)
		}
		return nil
	})
}

var (
	ofJob  = regexp.MustCompile(`job="[^"]*"`)
	atPort = regexp.MustCompile(`(spec-nodeName):\d+`)
)

// exported are the series of the exporters of a program, with the values of those that tell of something that is up or
// not.
func exported(prometheus, program string) (out []string, err error) {
	all, err := samples(prometheus, fmt.Sprintf(`last_over_time({program=%q}[5m])`, program))
	for _, s := range all {
		delete(s.Metric, "program")
		name, labels := s.Metric["__name__"], []string{}
		for _, label := range slices.Sorted(maps.Keys(s.Metric)) {
			labels = append(labels, fmt.Sprintf("%s=%q", label, atPort.ReplaceAllString(s.Metric[label], "$1")))
		}
		line := strings.Join(labels, ",")
		if strings.HasSuffix(name, "up") || name == "probe_success" || name == "orders" {
			line += fmt.Sprint(" ", s.Value[1])
		}
		out = append(out, line)
	}
	slices.Sort(out)
	return out, err
}

// send sends a packet to an address.
func send(t *testing.T, address, text string) {
	t.Helper()
	conn, err := net.Dial("udp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := conn.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
}
