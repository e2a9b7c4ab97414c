package agentconfig

import (
	"bytes"
	"errors"
	"io"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/common/model"
	"go.yaml.in/yaml/v3"

	"github.com/agentry-dev/agentry/generator/agentyaml"
	"github.com/agentry-dev/agentry/generator/api/v1alpha1"
	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/generator/secretref"
)

// additional returns the scrape configurations that a user wrote by hand, in a Secret.
// They are configuration: scalars are carried over as written, whatever the policy. What
// is wrong in them is the Secret's fault, and leaves the instance alone. No message holds
// any of the text.
func (b *builder) additional(in secretref.Scope, instance *manifest.Object, spec *v1alpha1.MetricsInstanceSpec, jobs []*agentyaml.ScrapeConfig, truncate time.Duration) []agentyaml.Raw {
	const path = "spec.additionalScrapeConfigs"
	ref := spec.AdditionalScrapeConfigs
	if ref == nil {
		return nil
	}
	text, secret := in.Content(path, ref)
	if secret == nil || b.left[secret.ID] {
		return nil
	}
	c := handWritten{builder: b, secret: secret, at: contentPath(secret, ref.Key), instance: instance, truncate: truncate}
	items, second, err := parseJobs(text)
	if err != nil {
		c.fail(err.line, diag.InvalidScrapeConfigs, "%s", err.message)
		return nil
	}
	if second > 0 {
		c.report(diag.Warning, second, diag.InvalidScrapeConfigs, "a second YAML document, which is ignored")
	}
	if !in.LiteralsAllowed() && len(items) > 0 {
		b.warn(instance, diag.ScrapeConfigsInClear, path, "the content of Secret %s/%s becomes part of the output, in clear", secret.Namespace, secret.Name)
	}
	names := make(map[string]bool, len(jobs)+len(items))
	for i := range jobs {
		names[jobs[i].JobName] = true
	}
	var out []agentyaml.Raw
	for _, item := range items {
		name := field(item, "job_name")
		switch {
		case name == "":
			c.fail(item.Line, diag.InvalidScrapeConfigs, "job_name is missing")
		case names[name]:
			c.fail(item.Line, diag.DuplicateJob, "the job_name is there twice in %s", instance.ID)
		}
		names[name] = true
		b.additionalJobs[instance.Namespace+"/"+instance.Name] = append(b.additionalJobs[instance.Namespace+"/"+instance.Name], name)
		c.check(item)
		raw, err := encodeNode(item)
		if err != nil {
			c.fail(item.Line, diag.InvalidScrapeConfigs, "cannot be written: %v", err)
			continue
		}
		out = append(out, raw)
	}
	return out
}

// handWritten reports on the content of one Secret as one instance uses it.
type handWritten struct {
	*builder
	secret   *manifest.Object
	at       string // path of the content in the Secret
	instance *manifest.Object
	truncate time.Duration
}

func (c handWritten) fail(line int, code diag.Code, format string, args ...any) {
	c.report(diag.Error, line, code, format, args...)
}

func (c handWritten) report(s diag.Severity, line int, code diag.Code, format string, args ...any) {
	d := c.secret.Diag(s, code, c.at, "line %d: "+format, append([]any{line}, args...)...)
	if line > 0 && strings.HasPrefix(c.at, "stringData") {
		d.Line, d.Column = c.secret.ValuePosition(c.at, line, 1)
	}
	c.diags = append(c.diags, d)
}

// scrapeFields are the fields of a scrape configuration of the agent v0.44.8, but for the
// service discoveries, whose names all end alike.
const scrapeFields = " job_name honor_labels honor_timestamps track_timestamps_staleness params scrape_interval scrape_timeout" +
	" scrape_classic_histograms metrics_path scheme body_size_limit sample_limit target_limit label_limit label_name_length_limit" +
	" label_value_length_limit native_histogram_bucket_limit keep_dropped_targets relabel_configs metric_relabel_configs static_configs" +
	" basic_auth authorization oauth2 bearer_token bearer_token_file tls_config follow_redirects enable_http2 proxy_url no_proxy" +
	" proxy_from_environment proxy_connect_header "

// check reports what the agent would refuse its whole configuration for, as far as it
// can be seen without knowing everything that a scrape configuration may hold.
func (c handWritten) check(item *yaml.Node) {
	for i := 0; i+1 < len(item.Content); i += 2 {
		name := item.Content[i].Value
		if !strings.Contains(scrapeFields, " "+name+" ") && !strings.HasSuffix(name, "_sd_configs") {
			c.fail(item.Content[i].Line, diag.InvalidScrapeConfigs, "a field that the agent's scrape configurations do not have")
		}
	}
	c.checkTiming(item)
	c.checkVariables(item)
}

func (c handWritten) checkTiming(item *yaml.Node) {
	every, limit := c.globalInterval(), field(item, "scrape_timeout")
	if text := field(item, "scrape_interval"); text != "" && !strings.Contains(text, "$") {
		d, err := model.ParseDuration(text)
		if err != nil {
			c.fail(item.Line, diag.InvalidDuration, "scrape_interval is not a duration, like 30s or 1m30s")
			return
		}
		if d > 0 {
			every = time.Duration(d)
		}
	}
	if every > c.truncate {
		c.fail(item.Line, diag.IntervalAboveWAL, "the scrape interval %s is longer than the walTruncateFrequency %s of %s", model.Duration(every), model.Duration(c.truncate), c.instance.ID)
	}
	if limit == "" || strings.Contains(limit, "$") {
		return
	}
	if d, err := model.ParseDuration(limit); err != nil {
		c.fail(item.Line, diag.InvalidDuration, "scrape_timeout is not a duration, like 10s")
	} else if time.Duration(d) > every {
		c.fail(item.Line, diag.TimeoutAboveInterval, "the scrape timeout is longer than the scrape interval %s", model.Duration(every))
	}
}

// checkVariables looks at all text below a node: there, variables are live.
func (c handWritten) checkVariables(n *yaml.Node) {
	for _, child := range n.Content {
		c.checkVariables(child)
	}
	if n.Kind != yaml.ScalarNode || !strings.Contains(n.Value, "$") {
		return
	}
	found, ok := variables(n.Value)
	if !ok {
		c.fail(n.Line, diag.EnvReference, "an unfinished ${: the agent refuses the whole configuration")
	}
	for _, v := range found {
		if !c.podDefines(v) {
			c.report(diag.Warning, n.Line, diag.EnvReference, "refers to an environment variable that the pods do not define: %s", v.hint())
		}
	}
}

// contentPath is where the content stands in the Secret: under stringData or data.
func contentPath(secret *manifest.Object, key string) string {
	if secret.Has("stringData[" + key + "]") {
		return "stringData[" + key + "]"
	}
	return "data[" + key + "]"
}

// problem is what is wrong in a line of the text, without any of it.
type problem struct {
	line    int
	message string
}

// parseJobs reads a YAML list of mappings, with aliases and merges written out. Empty text
// is an empty list; nulls are dropped everywhere, as by the operator, and so are comments,
// in which variables would be expanded too. second is the line of a second document.
func parseJobs(text []byte) (items []*yaml.Node, second int, bad *problem) {
	var doc, more yaml.Node
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	if err := decoder.Decode(&doc); errors.Is(err, io.EOF) {
		return nil, 0, nil
	} else if err != nil {
		return nil, 0, yamlProblem(err)
	}
	if err := decoder.Decode(&more); err == nil && !isNull(more.Content[0]) {
		second = more.Line
	}
	w := written{left: maxNodes}
	root := w.out(doc.Content[0], 0)
	if w.bad != nil {
		return nil, 0, w.bad
	}
	if root == nil {
		return nil, second, nil
	}
	if root.Kind != yaml.SequenceNode {
		return nil, 0, &problem{root.Line, "must be a list of scrape configurations"}
	}
	for _, item := range root.Content {
		if item.Kind != yaml.MappingNode {
			return nil, 0, &problem{item.Line, "each item must be a mapping"}
		}
	}
	return root.Content, second, nil
}

func isNull(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.Tag == "!!null" }

// field is the text of a mapping's scalar field; empty when it has none.
func field(item *yaml.Node, name string) string {
	for i := 0; i+1 < len(item.Content); i += 2 {
		if v := item.Content[i+1]; item.Content[i].Value == name && v.Kind == yaml.ScalarNode {
			return v.Value
		}
	}
	return ""
}

// encodeNode writes one item in the encoder's indentation. Scalars keep their style, so
// their text is what the user wrote.
func encodeNode(item *yaml.Node) (agentyaml.Raw, error) {
	var buf bytes.Buffer
	encoder := yaml.NewEncoder(&buf)
	encoder.SetIndent(2)
	if err := encoder.Encode(item); err != nil {
		return nil, err
	}
	if err := encoder.Close(); err != nil {
		return nil, err
	}
	return buf.Bytes(), nil
}

var yamlLine = regexp.MustCompile(`^yaml: line (\d+): (.*)$`)

// yamlProblem is the parser's own words and the line. Some of its messages quote the
// text: these are cut where the quotation begins.
func yamlProblem(err error) *problem {
	text, line := strings.TrimPrefix(err.Error(), "yaml: "), 1
	if m := yamlLine.FindStringSubmatch(err.Error()); m != nil {
		line, _ = strconv.Atoi(m[1])
		text = m[2]
	}
	if i := strings.IndexAny(text, "`'\""); i >= 0 {
		text = text[:i]
	}
	return &problem{max(line, 1), "not valid YAML: " + strings.TrimSpace(text)}
}
