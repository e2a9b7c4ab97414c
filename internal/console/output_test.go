package console

import (
	"fmt"
	"strings"
	"testing"

	"github.com/agentry-dev/agentry/generator"
	"github.com/agentry-dev/agentry/generator/explain"
	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/gitsync/fleet"
	"github.com/agentry-dev/agentry/test/outputs"
)

// TestTheOutputOfAPipeline follows links from a job to its line, and shows no secret there.
func TestTheOutputOfAPipeline(t *testing.T) {
	const monitor = "apiVersion: monitoring.coreos.com/v1\nkind: ServiceMonitor\nmetadata: {name: s0, namespace: m}\n" +
		"spec: {selector: {}, endpoints: [{port: web}]}\n"
	w := outputs.New(t)
	w.Remote.Commit("main", map[string]string{"in/monitor.yaml": monitor})
	w.Pass()
	r := manifest.Parse(manifest.File{Path: "in/agent.yaml", Data: []byte(outputs.Input("first") + "---\n" + monitor)},
		manifest.Options{})
	render := generator.Render(manifest.NewSet(r), generator.Options{}, nil).Explained()
	h := (&fake{pipelines: []fleet.Status{w.Status}, caches: w.Caches,
		renders: map[string]*explain.Render{"prod": &render}}).handler(t)
	const file = "/pipelines/prod/output/m/agent/agent-config.secret.yaml"
	_, rest, found := strings.Cut(get(h, "/pipelines/prod/explain?object=ServiceMonitor/m/s0").Body.String(),
		`href="`+file+"?line=")
	line, _, _ := strings.Cut(rest, "#")
	if !found || line == "" {
		t.Fatal("the explanation does not lead to the line of the job")
	}
	holds(t, get(h, "/pipelines/prod/output/").Body.String(), `href="/pipelines/prod/output/m/agent"`)
	holds(t, get(h, "/pipelines/prod/output/m/agent").Body.String(), `href="`+file+`"`, "StatefulSet/m/agent")
	text := get(h, file).Body.String()
	holds(t, text, `<span class="key">kind</span>: Secret`,
		fmt.Sprintf(`<p id="L%s"><a href="#L%[1]s" tabindex="-1">`, line), "serviceMonitor/m/s0/0", `class="still"`,
		`<span class="hidden">&lt;redacted&gt;</span>`)
	if strings.Contains(text, outputs.Password) || strings.Contains(text, outputs.User) {
		t.Error("the page has a secret")
	}
	if got := get(h, "/pipelines/prod/output/m/agent/x.yaml"); got.Code != 404 {
		t.Errorf("a file that is not there: %d", got.Code)
	}
}

func TestALineIsCutForItsColours(t *testing.T) {
	for line, want := range map[string]string{
		`  - job_name: "a" # b`:    `[  - ][key job_name][: ][text "a"][ # b]`,
		`    # why`:                `[comment     # why]`,
		`  replicas: 3`:            `[  ][key replicas][: ][word 3]`,
		`  x: <redacted>`:          `[  ][key x][: ][hidden <redacted>]`,
		`just text`:                `[just text]`,
		``:                         ``,
		`http://x: "unterminated\`: `[http://x: "unterminated\]`,
	} {
		if got := joined(parts(line, true)); got != want {
			t.Errorf("%q: %s", line, got)
		}
	}
	if got := joined(parts("\turl = \"x\"", false)); got != "[\t][key url][ = ][text \"x\"]" {
		t.Error(got)
	}
}

func joined(list []part) (out string) {
	for _, p := range list {
		out += "[" + strings.TrimPrefix(p.Class+" ", " ") + p.Text + "]"
	}
	return out
}
