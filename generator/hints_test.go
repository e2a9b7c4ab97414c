package generator_test

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/manifest"
)

// mistakes are the manifests of one archive.
type mistakes struct {
	name  string
	files []manifest.File
	opts  string // the archive's comment
}

func (c mistakes) render(t *testing.T) diag.List {
	t.Helper()
	var results []manifest.Result
	opts := scenarioOptions(t, c.opts)
	for _, f := range c.files {
		results = append(results, manifest.Parse(f, manifest.Options{Compatibility: opts.Compatibility}))
	}
	return renderAll(results, opts).Diags
}

// with returns the mistakes with another text of a file.
func (c mistakes) with(file, text string) mistakes {
	c.files = slices.Clone(c.files)
	for i := range c.files {
		if c.files[i].Path == file {
			c.files[i].Data = []byte(text)
		}
	}
	return c
}

func (c mistakes) text(file string) string {
	for _, f := range c.files {
		if f.Path == file {
			return string(f.Data)
		}
	}
	return ""
}

// corpora are all archives of fixtures with mistakes.
func corpora(t *testing.T) (all []mistakes) {
	t.Helper()
	for _, pattern := range []string{"testdata/*.txtar", "manifest/testdata/*.txtar"} {
		names, err := filepath.Glob(pattern)
		if err != nil || len(names) == 0 {
			t.Fatal(pattern, err)
		}
		for _, name := range names {
			archive, err := txtar.ParseFile(name)
			if err != nil {
				t.Fatal(err)
			}
			c := mistakes{name: name, opts: string(archive.Comment)}
			for _, f := range archive.Files {
				file, isInput := strings.CutPrefix(f.Name, "in/")
				if isInput || strings.HasPrefix(name, "manifest") && f.Name != "want" {
					c.files = append(c.files, manifest.File{Path: file, Data: f.Data})
				}
			}
			all = append(all, c)
		}
	}
	return all
}

var (
	words  = regexp.MustCompile(`[\w./$-]+`)
	aValue = regexp.MustCompile(`(: +|- +|\[|, *)([^\s,\]}:]+)`)
)

// edits are the hints that say exactly what to write: each with a function that does as it says, to the text from the
// position of the finding to the end of the line.
func edits() map[string]func(d diag.Diagnostic, said []string, line string) string {
	meant := func(_ diag.Diagnostic, said []string, line string) string {
		for _, at := range words.FindAllStringIndex(line, -1) {
			if word := line[at[0]:at[1]]; word != said[1] && diag.DidYouMean(word, []string{said[1]}) != "" {
				return line[:at[0]] + said[1] + line[at[1]:]
			}
		}
		return line
	}
	quoted := func(d diag.Diagnostic, said []string, line string) string {
		_, rest, _ := strings.Cut(d.Problem(), ": \"")
		word, _, _ := strings.Cut(rest, "\"")
		return strings.Replace(line, word, said[1], 1)
	}
	value := func(line, text string) string {
		at := aValue.FindStringSubmatchIndex(line)
		if at == nil {
			return line
		}
		return line[:at[4]] + text + line[at[5]:]
	}
	return map[string]func(diag.Diagnostic, []string, string) string{
		`^did you mean ([^?(]+)\?$`: meant,
		`^did you mean (\*\S+) \(line \d+\)\?$`: func(d diag.Diagnostic, said []string, line string) string {
			alias, _, _ := strings.Cut(d.Problem(), ":")
			return strings.Replace(line, alias, said[1], 1)
		},
		`^use one of ([^,]+)`: quoted,
		`^write a (?:duration|quantity) such as (\w+)`: func(d diag.Diagnostic, said []string, line string) string {
			return value(line, said[1])
		},
		`^write it with its unit: (\w+)$`: func(d diag.Diagnostic, said []string, line string) string {
			return value(line, said[1])
		},
		`^write the port's name, or targetPort: (\d+)$`: func(d diag.Diagnostic, said []string, line string) string {
			return strings.Replace(line, "port: ", "targetPort: ", 1)
		},
		`^quote it: "(.*?)"(?:; also .*)?$`: func(d diag.Diagnostic, said []string, line string) string {
			return strings.Replace(line, said[1], `"`+said[1]+`"`, 1)
		},
		`^write \(\) to match the empty value$`: func(d diag.Diagnostic, said []string, line string) string {
			return strings.NewReplacer(`regex: ""`, "regex: ()", "regex: ''", "regex: ()").Replace(line)
		},
		`^quote it$`: func(d diag.Diagnostic, said []string, line string) string {
			at := aValue.FindStringSubmatchIndex(line)
			return line[:at[4]] + `"` + line[at[4]:at[5]] + `"` + line[at[5]:]
		},
		`^(?:remove the quotes|write it without quotes)$`: func(d diag.Diagnostic, said []string, line string) string {
			return strings.Replace(line, `"`, "", 2)
		},
		`^write it on a line of its own, with a space behind the colon$`: func(d diag.Diagnostic, said []string,
			line string) string {
			key, rest, _ := strings.Cut(line, ": ")
			return key + ":\n" + strings.Repeat(" ", d.Column+1) + strings.Replace(rest, ":", ": ", 1)
		},
	}
}

// TestHintsThatSayWhatToWrite does as each hint of the fixtures says: the finding must be gone, and nothing else must
// be found at its place.
func TestHintsThatSayWhatToWrite(t *testing.T) {
	tried := map[string]int{}
	for _, c := range corpora(t) {
		before := c.render(t)
		for _, d := range before {
			for pattern, edit := range edits() {
				said := regexp.MustCompile(pattern).FindStringSubmatch(d.Hint)
				if said == nil || d.Line == 0 {
					continue
				}
				tried[pattern]++
				t.Run(fmt.Sprintf("%s/%s", c.name, d.Position()), func(t *testing.T) {
					tryHint(t, c, before, d, said, edit)
				})
			}
		}
	}
	for pattern := range edits() {
		if tried[pattern] == 0 {
			t.Errorf("no fixture has the hint %s", pattern)
		}
	}
}

func tryHint(t *testing.T, c mistakes, before diag.List, d diag.Diagnostic, said []string,
	edit func(diag.Diagnostic, []string, string) string) {
	lines := strings.SplitAfter(c.text(d.File), "\n")
	line := []rune(lines[d.Line-1])
	at := max(d.Column-1, 0)
	lines[d.Line-1] = string(line[:at]) + edit(d, said, string(line[at:]))
	path, _, _ := strings.Cut(d.Problem(), ": ")
	renamed := path[:strings.LastIndexByte(path, '.')+1] + said[len(said)-1]
	isGone(t, c.with(d.File, strings.Join(lines, "")), before, d, path, renamed)
}

// isGone fails if the finding is still there, or if the text breaks or has another finding of its kind at one of the
// paths.
func isGone(t *testing.T, edited mistakes, before diag.List, d diag.Diagnostic, paths ...string) {
	t.Helper()
	for _, now := range edited.render(t) {
		isNew := !slices.ContainsFunc(before, func(old diag.Diagnostic) bool {
			return old.File == now.File && old.Object == now.Object && old.Code == now.Code &&
				old.Problem() == now.Problem()
		})
		isBroken := now.Code == diag.InvalidYAML || now.Code == diag.DuplicateKey ||
			strings.Contains(now.Problem(), "not valid YAML")
		isHere := now.Object == d.Object && now.Code == d.Code &&
			slices.ContainsFunc(paths, func(path string) bool { return strings.HasPrefix(now.Problem(), path+":") })
		switch {
		case now.Same(d):
			t.Errorf("%s\nhint: %s\nthe finding is still there in\n%s", d, d.Hint, edited.text(d.File))
		case isNew && now.File == d.File && (isBroken || isHere):
			t.Errorf("%s\nhint: %s\nnow: %s", d, d.Hint, now)
		}
	}
}

// inWords are hints that leave something to the reader, by how they begin: each with the edit that a reader makes.
func inWords() map[string][2]string {
	return map[string][2]string{
		"begin each item of the list with": {"a: b}", "a: [b]}"},
		"move it behind the stage cri or docker": {
			"  - multiline: {firstLine: '^\\d{4}-\\d{2}-\\d{2} '}\n  - cri: {}\n",
			"  - cri: {}\n  - multiline: {firstLine: '^\\d{4}-\\d{2}-\\d{2} '}\n"},
		"set a constant label in spec.relabelings": {"  pipelineStages:\n  - static_labels: {a: b}\n",
			"  relabelings: [{targetLabel: a, replacement: b}]\n  pipelineStages:\n"},
		"\"any\" is of ServiceMonitor.spec.namespaceSelector": {"{any: true}", "{}"},
		"remove it, or add the opening bracket":               {"}}", "}"},
		"{} selects all in this namespace":                    {"metrics: {}", "metrics: {instanceSelector: {}}"},
		"add ] after its last item":                           {"{port: web}\n", "{port: web}]}\n"},
		"add } after its last value":                          {"{team: x\n", "{team: x}}\n"},
		"add \" at its end":                                   {"\"hunter2", "\"hunter2\""},
		"the anchor in line 1 of the text has a similar name": {"*hunter2", "*hunter22"},
		"move the anchor from line 2 of the text before": {
			"- *hunter2\n    - &hunter2 {job_name: one}\n", "- &hunter2 {job_name: one}\n"},
		"name the labels to look at in sourceLabels": {"{action: drop}",
			"{action: drop, sourceLabels: [pod], regex: x}"},
		"targets have no __name__": {
			"    - {action: keep, sourceLabels: [__name__], regex: up}\n    metricRelabelings:\n",
			"    metricRelabelings:\n    - {action: keep, sourceLabels: [__name__], regex: up}\n"},
		"copy it to another label in the rules for targets": {"[__meta_kubernetes_namespace]", "[namespace]"},
		"use a label or an annotation of the pod": {"__meta_kubernetes_service_label_app",
			"__meta_kubernetes_pod_label_app"},
		"set attachMetadata: {node: true}": {"metadata: {name: labels, namespace: m}\nspec:\n",
			"metadata: {name: labels, namespace: m}\nspec:\n  attachMetadata: {node: true}\n"},
		"write targetPort: 10254, without quotes":        {"port: \"10254\"", "targetPort: 10254"},
		"render it first, for example with helm":         {"{{- if .Values.metrics }}", "#"},
		"choose another name":                            {"__meta_agentoperator_x: y", "x: y"},
		"for the Grafana Agent write":                    {"v1alpha2", "v1alpha1"},
		"give each job a name of its own":                {"job_name: files", "job_name: more-files"},
		"it is written namespace/name, and spec.metrics": {"m/mian", "m/main"},
		"its keys: other":                                {"key: t", "key: other"},
		"its keys: ca.crt":                               {"key: none", "key: ca.crt"},
		"key is there as well":                           {", kee: c", ""},
		"labels is there as well":                        {"  label: {a: b}\n", ""},
		"stringData is there as well":                    {"stringdata: {a: hunter2}\n", ""},
		"name an image of Alloy, or none": {"  image: registry.example.com/grafana/agent:v0.44.8\n",
			""},
		"leave it out":                               {"    instance: mine\n", ""},
		"leave one of them out":                      {"    - {name: A, value: \"2\"}\n", ""},
		"make it a job of its own":                   {"journal: {labels: {job: journal}}", ""},
		"put it into quotes":                         {"{on:", "{\"on\":"},
		"put the path into metrics_path":             {"http://hunter2:9090/metrics", "hunter2:9090"},
		"quote a value that begins with an asterisk": {": *", ": x"},
		"quote a value that contains a colon":        {"a: b", "\"a: b\""},
		"remove all but one":                         {", password_file: /hunter2", ""},
		"set instance in one of them": {"memcached_address: \"c:11211\"",
			"memcached_address: \"c:11211\", instance: x"},
		"set it, or a default for all": {"kind: ConfigMap\n---\n",
			"kind: ConfigMap\nmetadata: {namespace: b}\n---\n"},
		"set metadata.name":            {"generateName: x-", "name: x"},
		"the largest unit is the hour": {"7d", "168h"},
		"the stages are YAML in a string": {
			"stages:\n      - tenant: {value: x}\n      - multilines: {}\n",
			"stages: |\n        - tenant: {value: x}\n"},
		"the stages are cri":                  {"bogus", "cri"},
		"this line is read as part":           {"   broken: x", "  broken: x"},
		"to take what was extracted under":    {"level: }", "level: \"\"}"},
		"use letters, digits and _":           {"1a", "a1"},
		"use letters, digits and underscores": {"hunter2-x", "hunter2_x"},
		"write \"cri: {}\"":                   {"- cri", "- cri: {}"},
		"write \"docker: {}\"":                {"- docker:{}", "- docker: {}"},
		"write \"multiline:\", with its settings": {"- multiline\n",
			"- multiline:\n        firstLine: a\n"},
		"write sendNativeHistograms: true to its": {`[{url: "https://mimir.example.com/api/v1/push"}]`,
			`[{url: "https://mimir.example.com/api/v1/push", sendNativeHistograms: true}]`},
		"write nameValidationScheme: UTF8": {"{nameEscapingScheme: AllowUTF8",
			"{nameValidationScheme: UTF8, nameEscapingScheme: AllowUTF8"},
		"write OAuth or ManagedIdentity, with what it needs": {"authenticationMethod: SDK",
			"authenticationMethod: ManagedIdentity"},
		"write Instance or Hypervisor": {"role: LoadBalancer", "role: Instance"},
		"add PrometheusProto to scrapeProtocols": {"scrapeProtocols: [PrometheusText0.0.4], scrapeClass",
			"scrapeProtocols: [PrometheusProto, PrometheusText0.0.4], scrapeClass"},
		"write $${": {"${broken", "$${broken"},
		"a stage without settings is written as cri: {}": {"- {}", "- cri: {}"},
		"write expression: .+ instead":                   {"longerThan: 0b", "expression: .+"},
		"set runtime: alloy in the pipeline":             {"grafana/alloy:v1.18.1", "grafana/agent:v0.44.8"},
		"they have the label":                            {"teir", "tier"},
		"label names have letters, digits and _ only":    {"[a-b]", "[a_b]"},
		"put a line with nothing but --- between": {"kind: Namespace\nmetadata: {name: seven}\n",
			"kind: Namespace\nmetadata: {name: seven}\n---\n"},
		"the fields are action, modulus": {"    somethingElse: true\n", ""},
		"the fields are password, username": {"[{username: {name: a, key: b}}, {}]",
			"{username: {name: a, key: b}, password: {name: a, key: c}}"},
		"the fields are dropCounterReason": {"olderThan", "{olderThan: 1h}"},
		"write labels below matchLabels":   {"lector: 1", "lector: {matchLabels: {a: b}}"},
		"write serviceMonitorSelector: {} to select all": {"  serviceMonitorNamespaceSelector: {}\n",
			"  serviceMonitorNamespaceSelector: {}\n  serviceMonitorSelector: {}\n"},
		"write staticConfigs, or one of the fields":     {"spec: {}", "spec: {staticConfigs: [{targets: [a]}]}"},
		"add the path that the server takes samples at": {"mimir.example.com/\"", "mimir.example.com/push\""},
		"add the path that the server takes lines at":   {"loki.example.com\"", "loki.example.com/push\""},
		"write targetPort: 8080, without":               {"\"8080\"", "8080"},
		"use agent":                                     {"agentry.dev/runtime: \"\"", "agentry.dev/runtime: agent"},
		"move it to the GrafanaAgent":                   {"agentry.dev/runtime: alloy", "other: annotation"},
		"write v0.44.2":                                 {"\"0.44.2\"", "v0.44.2"},
		"write v0.44.8, or set runtime":                 {"v1.2.0", "v0.44.8"},
		"write what follows the ? to params": {"\"/metrics?all=true\"",
			"/metrics, params: {all: [\"true\"]}"},
		"write a scheme other than http to spec.prober": {"http://blackbox.m:9115/probe", "blackbox.m:9115"},
		"write drop: true": {"by_label_name", "drop: true, by_label_name"},
		"write it as a list of one item": {"dns_sd_configs: hunter2",
			"dns_sd_configs: [{names: [hunter2]}]"},
		"write plain text to stringData":     {"data:", "stringData:"},
		"write its settings, or {} for none": {"docker:", "docker: {}"},
		"write mysql":                        {"mysqld_exporter", "mysql"},
		"write static_configs, a service discovery": {"- job_name: nothing",
			"- job_name: nothing\n      static_configs: [{targets: [localhost], labels: {__path__: /a}}]"},
		"Flux would replace": {"${INTERVAL:=30s}", "30s"},
		"write the value, or read the repository with build": {"${APP}", "web"},
		"write what it stands for in place of the variable":  {"${SWITCH}", "true"},
		"write the list":                           {"\"db0=${NAME}\"", "\"db0=a\""},
		"write the variable without quotes":        {"\"$(SHARD)\"", "$(SHARD)"},
		"write the lines as YAML":                  {"config: |", "config:"},
		"write {name: ..., key: ...}":              {"- {name: other}", "- {name: other, key: a}"},
		"write api_server, or remove the settings": {"bearer_token: hunter2", "api_server: https://k"},
		"a stage is a name with its settings":      {"- cri", "- cri: {}"},
		"mount a Secret by spec.secrets of the GrafanaAgent": {"bearerToken: hunter2",
			"bearerTokenFile: /var/lib/grafana-agent/secrets/a"},
		"or have the agent's container define MYSQLD": {"config: |",
			"config: |\n    data_source_name: root@(mysql:3306)/"},
		"or have the agent's container define POSTGRES": {"config: {}",
			"config: {data_source_names: [postgres://a]}"},
		"list it in spec.secrets or spec.configMaps, or": {"secrets/sessions/password",
			"secrets/session/script.lua"},
		"leave the user and the password out of the URL":  {"user:hush@mimir", "mimir"},
		"the agent reads no credential of a proxy":        {"user:hush@proxy", "proxy"},
		"put the user and the password into the prober's": {"user:hush@web", "web"},
		"refer to a Secret: valueFrom": {"value: hush",
			"valueFrom: {secretKeyRef: {name: a, key: b}}"},
		"write $(NAME), and let env of the container":     {"=hush", "=$(NAME)"},
		"use clientSecret, which refers to a Secret":      {"password: hush, ", ""},
		"refer to a Secret in basicAuth or authorization": {"params: {access_token: [hush]}", "path: /x"},
		"write ${NAME} and let spec.containers":           {"exporter:hush@(mysql:3306)/", "${NAME}"},
		"add {apiGroups: [discovery.k8s.io]": {"rules:\n",
			"rules:\n  - {apiGroups: [discovery.k8s.io], resources: [endpointslices], verbs: [list, watch]}\n"},
		"add {apiGroups: [\"\"], resources: [nodes], verbs": {"verbs: [get, list]", "verbs: [get, list, watch]"},
		"set scrapeTimeout to 15s or less":                  {"scrapeTimeout: 30s", "scrapeTimeout: 15s"},
		"set scrapeTimeout to 1m or less":                   {"scrapeTimeout: 90s", "scrapeTimeout: 1m"},
		"set another runAsUser, or runAsNonRoot":            {"runAsUser: 0", "runAsUser: 473"},
		"leave args out and use the fields":                 {", args: [-log.level=debug]", ""},
		"begin args with all of these: [\"--config-file=/var/lib/grafana-agent/config-in/agent.yml": {
			"config/other.yml, --statefulset-ordinal-from-envvar=POD_NAME, \"--reload-url=http://localhost:9090",
			"config/agent.yml, --watch-interval=1m, --statefulset-ordinal-from-envvar=POD_NAME, " +
				"\"--reload-url=http://127.0.0.1:8080"},
		"begin args with all of these: [\"--config-file=/var/lib/grafana-agent/config-in/config.alloy": {
			"config-in/agent.yml, --config-envsubst-file=/var/lib/grafana-agent/config/agent.yml",
			"config-in/config.alloy, --config-envsubst-file=/var/lib/grafana-agent/config/config.alloy"},
		"set accessKey and secretKey, or define": {"value: u}",
			"value: u}, {name: AWS_ACCESS_KEY_ID, valueFrom: {secretKeyRef: {name: a, key: b}}}"},
		"set region, or define AWS_REGION":      {"sigv4: {}", "sigv4: {region: eu-west-1}"},
		"set identityEndpoint and credentials":  {"region: r}", "region: r, identityEndpoint: \"https://k\"}"},
		"set identity_endpoint and credentials": {"region: r}", "region: r, identity_endpoint: \"https://k\"}"},
		"define GOOGLE_APPLICATION_CREDENTIALS": {"value: u}",
			"value: u}, {name: GOOGLE_APPLICATION_CREDENTIALS, value: /google.json}"},
		"mount it by spec.secrets, spec.configMaps, or": {"spec:\n  containers:",
			"spec:\n  volumes: [{name: ca, secret: {secretName: ca}}]\n  volumeMounts: [{name: ca, mountPath: /ca}]\n" +
				"  containers:"},
		"bind it to a Role or ClusterRole with":  {"namespace: m}]\n", "namespace: m}]\n" + ingressesOfShop},
		"write ${NAME}, and let spec.containers": {"X-Api-Key: hush", "X-Api-Key: \"${NAME}\""},
		"if it is not meant for one here": {"{name: none, namespace: team-shop}",
			"{name: none, namespace: team-shop, annotations: {agentry.dev/ignore: for another cluster}}"},
		"the reason is its value": {"{agentry.dev/ignore: \" \"}", "{agentry.dev/ignore: for another cluster}"},
	}
}

// ingressesOfShop are a role and its binding.
const ingressesOfShop = `---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: ingresses, namespace: shop}
rules: [{apiGroups: [networking.k8s.io], resources: [ingresses], verbs: [list, watch]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: ingresses, namespace: shop}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: ingresses}
subjects: [{kind: ServiceAccount, name: agent, namespace: m}]
`

// elsewhere are the beginnings of hints whose edit is not at the finding: in another object, another file or the
// cluster.
func elsewhere() []string {
	return []string{
		"IntegrationMonitor/", "it belongs to", "add their Namespace manifests", "add it to spec.containers[",
		"set secrets.mirror in the pipeline", "MetricsInstance/monitorng/primary",
		"only the jobs in additionalScrapeConfigs", "put commas between its", "write key: value;",
		"correct the ", "name it in the patches", "if it is a patch", "it must exist before the pods start",
		"let another GrafanaAgent select it", "narrow their selectors", "hide the file", "save the file",
		"encrypt Secrets", "encrypt it with SOPS instead",
		"let the integrationMonitorSelector of one of them", "remove one of them",
		"the operator's agents would expand it",
		"it is written namespace/name, and spec.logs",
		"it is written namespace/name, and spec.metrics.instanceSelector must select it; selected are m/one",
		"the pods can mount only", "Kubernetes writes this key in the cluster", "write the item itself",
		"write apiVersion: monitoring", "to scrape them, set compatibility", "indent with spaces", "rename one",
		"put it into a ConfigMap that spec.configMaps lists", "make it an Integration, and collect",
		"run the pods as root",
		"let the Secret exist before the pods start", "set runtimeVersion to",
		"render its GrafanaAgent with the runtime agent",
		"give it the annotations", "create it with an ExternalSecret", "add it to the inputs",
		"add a manifest of Namespace", "did you mean team-shop in spec.podMonitorNamespaceSelector",
		"2 in other namespaces have them", "name a ServiceAccount", "agentry rbac prints the roles",
		"add alloy to spec.runtimes.allowed", "let a MetricsInstance of each GrafanaAgent select an",
		"the secrets policy reference needs no value", "name a key for it in decryption",
	}
}

// TestHintsInWords makes an edit for each other hint of the fixtures.
func TestHintsInWords(t *testing.T) {
	tried := map[string]bool{}
	for _, c := range corpora(t) {
		before := c.render(t)
		for _, d := range before {
			hint, edit, known := prefixed(inWords(), d.Hint)
			text := c.text(d.File)
			switch {
			case d.Hint == "" || text == "" || saysWhatToWrite(d.Hint) ||
				slices.ContainsFunc(elsewhere(), func(start string) bool {
					return strings.HasPrefix(d.Hint, start)
				}):
				continue
			case !known:
				t.Errorf("%s: %s\nno edit is known for the hint: %s", c.name, d, d.Hint)
				continue
			}
			from := len(strings.Join(strings.SplitAfter(text, "\n")[:max(d.Line-1, 0)], ""))
			if !strings.Contains(text[from:], edit[0]) {
				from = max(strings.LastIndex(text[:from], edit[0]), 0)
			}
			if tried[hint] || !strings.Contains(text[from:], edit[0]) {
				continue // another finding with this hint is the one that the edit is for
			}
			tried[hint] = true
			t.Run(hint, func(t *testing.T) {
				path, _, _ := strings.Cut(d.Problem(), ": ")
				isGone(t, c.with(d.File, text[:from]+strings.Replace(text[from:], edit[0], edit[1], 1)), before, d,
					path)
			})
		}
	}
	for hint := range inWords() {
		if !tried[hint] {
			t.Errorf("no fixture fits the hint %q and its edit", hint)
		}
	}
}

func saysWhatToWrite(hint string) bool {
	for pattern := range edits() {
		if regexp.MustCompile(pattern).MatchString(hint) {
			return true
		}
	}
	return false
}

// prefixed returns the edit whose hint a text begins with.
func prefixed(edits map[string][2]string, text string) (string, [2]string, bool) {
	for hint, edit := range edits {
		if strings.HasPrefix(text, hint) {
			return hint, edit, true
		}
	}
	return "", [2]string{}, false
}
