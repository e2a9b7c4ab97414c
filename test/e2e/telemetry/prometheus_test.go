package telemetry

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agentry-dev/agentry/test/e2e/harness"
)

const (
	prometheusAddress = "10.255.0.1:9090"
	writeURL          = "http://" + prometheusAddress + "/api/v1/write"
	// webConfig lets in who knows the user and the password, of which this is the bcrypt hash, of
	// the lowest cost.
	webConfig = `basic_auth_users: {scraper: "$2b$04$abcdefghijklmnopqrstuujydOTSfIH/d5oUHpsygqV5X9xJLQc6e"}`
)

// startPrometheus starts the receiver, which wants a login.
func startPrometheus(t *testing.T) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{"prometheus.yml": "{}", "web.yml": webConfig} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cluster.Launch(t, "prometheus", harness.Prometheus(), "--web.enable-remote-write-receiver",
		"--web.listen-address="+prometheusAddress,
		"--config.file="+filepath.Join(dir, "prometheus.yml"), "--web.config.file="+filepath.Join(dir, "web.yml"),
		"--storage.tsdb.path="+filepath.Join(dir, "data"))
	harness.Eventually(t, "Prometheus is ready", func() error { _, err := delivered(`__name__="up"`); return err })
}

// sample is a series with its last value.
type sample struct {
	labels map[string]string
	value  string
}

// String is the sample as exporters write it.
func (s sample) String() string {
	var pairs []string
	for _, name := range slices.Sorted(maps.Keys(s.labels)) {
		if name != "__name__" {
			pairs = append(pairs, fmt.Sprintf("%s=%q", name, s.labels[name]))
		}
	}
	return fmt.Sprintf("%s{%s} %s", s.labels["__name__"], strings.Join(pairs, ","), s.value)
}

// delivered are the series that Prometheus has got, but for how long scrapes took.
func delivered(matchers string) ([]sample, error) {
	return query(`last_over_time({` + matchers + `,__name__!="scrape_duration_seconds"}[10m])`)
}

// current are the series that have not ended.
func current(matchers string) ([]sample, error) { return query("{" + matchers + "}") }

func query(expression string) ([]sample, error) {
	query := url.Values{"query": {expression}}
	request, err := http.NewRequest(http.MethodGet, "http://"+prometheusAddress+"/api/v1/query?"+query.Encode(), nil)
	if err != nil {
		return nil, err
	}
	request.SetBasicAuth(user, password)
	client := http.Client{Timeout: 10 * time.Second}
	response, err := client.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s %s", response.Status, body)
	}
	if err != nil {
		return nil, err
	}
	var answer struct {
		Data struct {
			Result []struct {
				Metric map[string]string
				Value  [2]any // time and value
			}
		}
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		return nil, err
	}
	var samples []sample
	for _, r := range answer.Data.Result {
		samples = append(samples, sample{r.Metric, fmt.Sprint(r.Value[1])})
	}
	return samples, nil
}

func lines(samples []sample) []string {
	var out []string
	for _, s := range samples {
		out = append(out, s.String())
	}
	slices.Sort(out)
	return out
}

// differ tells which lines only one of two sorted lists has, up to ten of them.
func differ(want, got []string) error {
	const most = 10
	var out []string
	count := func(lines []string, line string) (n int) {
		for i, ok := slices.BinarySearch(lines, line); ok && i < len(lines) && lines[i] == line; i++ {
			n++
		}
		return n
	}
	for _, line := range slices.Compact(slices.Sorted(slices.Values(slices.Concat(want, got)))) {
		if w, g := count(want, line), count(got, line); w > g {
			out = append(out, "- "+line)
		} else if g > w {
			out = append(out, "+ "+line)
		}
	}
	if len(out) == 0 {
		return nil
	}
	return fmt.Errorf("%d lines differ, -want +got:\n%s", len(out), strings.Join(out[:min(len(out), most)], "\n"))
}

// golden compares lines with a file of testdata, as soon as they are all there.
func golden(t *testing.T, file string, get func() ([]string, error)) {
	t.Helper()
	path := filepath.Join("testdata", file)
	if *update {
		time.Sleep(45 * time.Second) // Everything has arrived by then.
		got, err := get()
		if err == nil {
			err = os.WriteFile(path, []byte(strings.Join(got, "\n")+"\n"), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	sameAs(t, file, get)
}

// sameAs compares lines with a file of testdata that another agent makes, as soon as they are all there.
func sameAs(t *testing.T, file string, get func() ([]string, error)) {
	t.Helper()
	want := strings.Split(strings.TrimSpace(string(read(t, filepath.Join("testdata", file)))), "\n")
	harness.Eventually(t, file, func() error {
		got, err := get()
		if err != nil {
			return err
		}
		return differ(want, got)
	})
}
