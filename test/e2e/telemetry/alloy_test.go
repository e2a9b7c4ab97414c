package telemetry

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/agentry-dev/agentry/test/fixtures"
)

// A successor is a GrafanaAgent of another part of this test with another name, and rendered for Alloy. It runs beside
// the other, in the agent's Flow mode, which Alloy comes from, and must deliver the same.
type successor struct{ *manifests }

// newSuccessor copies a folder of testdata.
func newSuccessor(t *testing.T, folder string) successor {
	t.Helper()
	return successor{newRenamed(t, folder, "successor")}
}

// newRenamed copies a folder of testdata whose GrafanaAgent gets another name, and its agents an account of their own,
// with the rights that are computed for them.
func newRenamed(t *testing.T, folder, name string) *manifests {
	t.Helper()
	m := newManifests(t, folder)
	file := filepath.Join(m.dir, "agent.yaml")
	text := string(read(t, file))
	for before, after := range map[string]string{
		`metadata: \{name: agent, (namespace: \w+\})\nspec`: "metadata: {name: " + name + ", $1\nspec",
		`serviceAccountName: .*`:                            "serviceAccountName: " + name,
		`cluster: ` + folder:                                "cluster: " + folder + "-" + name,
	} {
		text = regexp.MustCompile(before).ReplaceAllString(text, after)
	}
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return m
}

func (s successor) render(t *testing.T, compatibility string) []*unstructured.Unstructured {
	t.Helper()
	return s.pass(t, "runtime: alloy", "compatibility: "+compatibility)
}

// asOf returns what a successor delivered with the names of the agent that it follows.
func asOf(lines []string) (out []string) {
	names := strings.NewReplacer(`-successor"`, `"`, `/successor"`, `/agent"`, "serviceaccount:monitoring:successor",
		"serviceaccount:monitoring:grafana-agent")
	for _, line := range lines {
		out = append(out, names.Replace(line))
	}
	slices.Sort(out)
	return out
}

// sameSeries waits until a successor has delivered the series in a file of testdata.
func sameSeries(t *testing.T, file, matchers string) {
	t.Helper()
	sameAs(t, file, func() ([]string, error) {
		samples, err := delivered(matchers)
		return asOf(lines(samples)), err
	})
}

// aimAlloy is [aim] for a configuration of Alloy.
func aimAlloy(text string, labels map[string]string) string {
	endpoint := fmt.Sprintf(
		"\tendpoint {\n\t\turl = %q\n\t\tbasic_auth {\n\t\t\tusername = %q\n\t\t\tpassword = %q\n\t\t}\n", writeURL,
		user, password)
	for name, value := range labels {
		endpoint += fmt.Sprintf("\t\twrite_relabel_config {\n\t\t\ttarget_label = %q\n\t\t\treplacement = %q\n\t\t}\n",
			name, value)
	}
	text = regexp.MustCompile(`(?ms)^\tendpoint \{.*?^\t\}\n`).ReplaceAllString(text, "")
	text = regexp.MustCompile(`(?m)^prometheus\.remote_write .* \{$`).ReplaceAllString(text, "${0}\n"+endpoint+"\t}")
	text = regexp.MustCompile(`(scrape_(?:interval|timeout) *= )"\w+"`).ReplaceAllString(text, `$1"1s"`)
	return regexp.MustCompile(`("__scrape_(?:interval|timeout)__"\s+replacement *= )"\w+"`).ReplaceAllString(text,
		`$1"1s"`)
}

const (
	alloyImage = "grafana/alloy:"
	alloyKey   = "config.alloy"
)

func runsAlloy(c corev1.Container) bool { return strings.Contains(c.Image, alloyImage) }

// mode is the mode of the agent that runs in a container.
func mode(c corev1.Container) string {
	if runsAlloy(c) {
		return "flow"
	}
	return "static"
}

// inFlow translates configurations for Alloy among the files of a volume.
func inFlow(files map[string][]byte) error {
	for name, data := range files {
		if !strings.HasSuffix(name, ".alloy") {
			continue
		}
		if !bytes.HasPrefix(data, []byte("\x1f\x8b")) {
			files[name] = []byte(fixtures.InFlow(string(data)))
			continue
		}
		from, err := gzip.NewReader(bytes.NewReader(data))
		if err != nil {
			return err
		}
		text, err := io.ReadAll(from)
		if err != nil {
			return err
		}
		var b bytes.Buffer
		to := gzip.NewWriter(&b)
		if _, err := io.WriteString(to, fixtures.InFlow(string(text))); err != nil {
			return err
		}
		if err := to.Close(); err != nil {
			return err
		}
		files[name] = b.Bytes()
	}
	return nil
}
