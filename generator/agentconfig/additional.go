package agentconfig

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/agentry-dev/agentry/generator/agentyaml"
	"github.com/agentry-dev/agentry/generator/api/v1alpha1"
	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/generator/secretref"
)

// additional returns the scrape configurations that a user wrote by hand, in a Secret.
// They are configuration: carried over as written, scalars and all, whatever the policy.
// What is wrong in them is the Secret's fault, and leaves the instance alone.
func (b *builder) additional(in secretref.Scope, instance *manifest.Object, spec *v1alpha1.MetricsInstanceSpec, jobs []*agentyaml.ScrapeConfig) []agentyaml.Raw {
	const path = "spec.additionalScrapeConfigs"
	ref := spec.AdditionalScrapeConfigs
	if ref == nil {
		return nil
	}
	text, secret := in.Content(path, ref)
	if secret == nil || b.left[secret.ID] {
		return nil
	}
	at := contentPath(secret, ref.Key)
	fail := func(line int, code diag.Code, format string, args ...any) {
		d := secret.Diag(diag.Error, code, at, format+" (used by %s)", append(args, instance.ID)...)
		if line > 0 && strings.HasPrefix(at, "stringData") {
			d.Line, d.Column = secret.ValuePosition(at, line, 1)
		}
		b.diags = append(b.diags, d)
	}
	items, line, err := parseJobs(text)
	if err != nil {
		fail(line, diag.InvalidScrapeConfigs, "line %d: %v", line, err)
		return nil
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
		name := jobName(item)
		switch {
		case name == "":
			fail(item.Line, diag.InvalidScrapeConfigs, "line %d: job_name is missing", item.Line)
		case names[name]:
			fail(item.Line, diag.DuplicateJob, "line %d: job_name %q is there twice in the instance", item.Line, name)
		}
		names[name] = true
		raw, err := encodeNode(item)
		if err != nil {
			fail(item.Line, diag.InvalidScrapeConfigs, "line %d: %v", item.Line, err)
			continue
		}
		b.checkVariables(instance, path, string(raw))
		out = append(out, raw)
	}
	return out
}

// contentPath is where the content stands in the Secret: under stringData or data.
func contentPath(secret *manifest.Object, key string) string {
	if secret.Has("stringData[" + key + "]") {
		return "stringData[" + key + "]"
	}
	return "data[" + key + "]"
}

// maxAliases bounds what a YAML document may repeat by reference; hand-written scrape
// configurations have a few.
const maxAliases = 1000

// parseJobs reads a YAML list of mappings. Empty text is an empty list; empty items are
// dropped, as by the operator. An error comes with its line, and without any text of the
// document, which may be secret.
func parseJobs(text []byte) (items []*yaml.Node, line int, err error) {
	var doc, second yaml.Node
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	if err := decoder.Decode(&doc); errors.Is(err, io.EOF) {
		return nil, 0, nil
	} else if err != nil {
		line, err := yamlProblem(err)
		return nil, line, err
	}
	if err := decoder.Decode(&second); err == nil {
		return nil, second.Line, errors.New("a second YAML document, which the agent would ignore")
	}
	root := doc.Content[0]
	if isNull(root) {
		return nil, 0, nil
	}
	if root.Kind != yaml.SequenceNode {
		return nil, root.Line, errors.New("must be a list of scrape configurations")
	}
	if countAliases(root) > maxAliases {
		return nil, root.Line, fmt.Errorf("more than %d YAML aliases", maxAliases)
	}
	for _, item := range root.Content {
		switch {
		case isNull(item):
		case item.Kind == yaml.MappingNode:
			items = append(items, item)
		default:
			return nil, item.Line, errors.New("each item must be a mapping")
		}
	}
	return items, 0, nil
}

func isNull(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.Tag == "!!null" }

func countAliases(n *yaml.Node) int {
	count := 0
	if n.Kind == yaml.AliasNode {
		return 1
	}
	for _, c := range n.Content {
		count += countAliases(c)
	}
	return count
}

func jobName(item *yaml.Node) string {
	for i := 0; i+1 < len(item.Content); i += 2 {
		if v := item.Content[i+1]; item.Content[i].Value == "job_name" && v.Kind == yaml.ScalarNode {
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

var yamlLine = regexp.MustCompile(`^line (\d+): (.*)$`)

// yamlProblem is the parser's own words and the line. Syntax errors quote nothing of the
// document; what would quote a scalar is cut.
func yamlProblem(err error) (int, error) {
	text, _, _ := strings.Cut(strings.TrimPrefix(err.Error(), "yaml: "), "`")
	line := 1
	if m := yamlLine.FindStringSubmatch(text); m != nil {
		line, _ = strconv.Atoi(m[1])
		text = m[2]
	}
	return line, fmt.Errorf("not valid YAML: %s", strings.TrimSpace(text))
}
