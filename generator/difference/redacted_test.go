package difference

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// In these texts, exactly the values that contain hush are secrets.
const (
	otherSecret = "apiVersion: v1\nkind: Secret\nmetadata:\n  name: agent-secrets\n  namespace: m\ndata:\n  # hush\n" +
		"  a: aHVzaHk=\nstringData:\n  b: |\n    hush\n    password: hush\n"
	head        = "apiVersion: v1\nkind: Secret\nmetadata:\n  name: agent-config\n  namespace: m\nstringData:\n"
	agentConfig = `metrics:
  configs:
    - name: m/main
      remote_write:
        - url: https://user:hush@mimir/push
          basic_auth:
            username: hush-user
            password: "hush and
              more hush"
          headers: {X-Token: hush, X-Scope: a, Authorization: Bearer hush}
        - url: http://mimir/push # hush: token=hush
          bearer_token: |
            hush
            url: hush
      scrape_configs:
        - job_name: serviceMonitor/m/a/0
          params: {token: [hush], module: [m]}
          tls_config: {key: "-----BEGIN hush"}
          relabel_configs:
            - replacement: hush
              target_label: __param_api_key
            - target_label: __param_token
              replacement: hush
            - replacement: $1
              target_label: __param_token
          metric_relabel_configs:
            - replacement: label with hushy in it
              target_label: x
            - "plain"
`
	alloyConfig = "prometheus.remote_write \"m\" {\n\tendpoint {\n\t\turl = \"https://mimir\"\n\t\tbasic_auth {\n" +
		"\t\t\tusername = \"hush\"\n\t\t\tpassword = \"hush\"\n\t\t}\n\t\theaders = {\n" +
		"\t\t\t\"X-Token\" = \"hush\",\n\t\t}\n\t\tbearer_token = sys.env(\"NAME\")\n\t}\n\traw = `\nhush\n`\n" +
		"\tlabel = \"with hushy in it\"\n}\ndiscovery.relabel \"m\" {\n\trule {\n" +
		"\t\ttarget_label = \"__param_token\"\n\t\treplacement  = \"hush\"\n\t}\n\n\trule {\n" +
		"\t\ttarget_label = \"__param_module\"\n\t\treplacement  = \"m\"\n\t}\n}\nprometheus.scrape \"m\" {\n" +
		"\tparams = {\n\t\t\"api_key\" = [\"hush\", \"hush\"],\n\t}\n\ttls_config {\n\t\tkey_pem = \"hush\"\n\t}\n}\n" +
		"prometheus.exporter.mysql \"m\" {\n\tdata_source = \"u:hush@(db)/\"\n}\n"
)

func secretOf(key, config string) string {
	out := head + "  " + key + ": |\n"
	for line := range strings.Lines(config) {
		out += "    " + line
	}
	return out
}

func TestWhatIsShownOfAFile(t *testing.T) {
	other, _ := Read("m/agent", []byte(otherSecret))
	long := agentConfig
	for i := range 200 {
		long += fmt.Sprintf(
			"        - job_name: serviceMonitor/m/b/%d\n          password: hush\n          scheme: http\n", i)
	}
	for name, test := range map[string]struct {
		file, text string
		says       map[int]string // by the line, from 1
	}{
		"another Secret": {"agent-secrets.secret.yaml", otherSecret,
			map[int]string{4: "  name: agent-secrets", 8: "  a: <redacted>", 10: "  b: <redacted>",
				11: "    <redacted>"}},
		"an agent": {"agent-config.secret.yaml", secretOf("agent.yml", agentConfig),
			map[int]string{10: "        - name: m/main", 12: "            - url: https://<redacted>@mimir/push",
				14: "                username: <redacted>", 22: "          scrape_configs:",
				23: "            - job_name: serviceMonitor/m/a/0", 34: "                - replacement: <redacted>",
				31: "                - replacement: $1", 35: "                  target_label: x",
				36: "                - \"plain\""}},
		"a large agent": {"agent-config.secret.yaml", secretOf("agent.yml", long),
			map[int]string{23: "            - job_name: serviceMonitor/m/a/0",
				634: "            - job_name: serviceMonitor/m/b/199", 636: "              scheme: http"}},
		"a review text": {"agent-config.agent.yml.txt", agentConfig,
			map[int]string{3: "    - name: m/main", 7: "            username: <redacted>"}},
		"Alloy": {"agent-config.secret.yaml", secretOf("config.alloy", alloyConfig),
			map[int]string{10: "    \t\turl = \"https://mimir\"", 13: "    \t\t\tpassword = <redacted>",
				18: "    \t\tbearer_token = sys.env(\"NAME\")"}},
		"Alloy's review": {"agent-config.config.alloy.txt", alloyConfig,
			map[int]string{26: "\t\treplacement  = \"m\"", 38: "\tdata_source = <redacted>"}},
		"no Secret": {"a.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata:\n" +
			"  x: \"\\e[31m\u202e\"\n  y: hushy\n", map[int]string{5: "  x: \"\\e[31m\ufffd\"", 6: "  y: <redacted>"}},
	} {
		t.Run(name, func(t *testing.T) {
			lines, err := Redacted(test.file, []byte(test.text), []Manifest{other})
			if err != nil {
				t.Fatal(err)
			}
			all := strings.Join(lines, "\n")
			if strings.Contains(all, "hush") {
				t.Errorf("a secret is shown:\n%s", all)
			}
			if want := strings.Count(test.text, "\n"); len(lines) != want {
				t.Errorf("%d lines of %d", len(lines), want)
			}
			for line, want := range test.says {
				if want != "" && line <= len(lines) {
					if diff := cmp.Diff(want, lines[line-1]); diff != "" {
						t.Errorf("line %d (-want +got):\n%s\n%s", line, diff, all)
					}
				}
			}
		})
	}
	for file, text := range map[string]string{"notes.txt": "hush", "a.yaml": "hush", "b.yaml": "kind: Secret\n"} {
		if lines, err := Redacted(file, []byte(text), nil); err == nil {
			t.Errorf("%s: %q", file, lines)
		}
	}
}
