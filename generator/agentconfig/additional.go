package agentconfig

import (
	"bytes"
	"errors"
	"fmt"
	"io"
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
func (b *builder) additional(in secretref.Scope, instance *manifest.Object, spec *v1alpha1.MetricsInstanceSpec, jobs []agentyaml.ScrapeConfig) []agentyaml.Raw {
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
	items, err := parseJobs(text)
	if err != nil {
		b.error(secret, diag.InvalidScrapeConfigs, at, "%v (used by %s, %s)", err, instance.ID, path)
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
			b.error(secret, diag.InvalidScrapeConfigs, at, "line %d: job_name is missing (used by %s)", item.Line, instance.ID)
		case names[name]:
			b.error(secret, diag.DuplicateJob, at, "line %d: job_name %q is there twice in %s", item.Line, name, instance.ID)
		}
		names[name] = true
		raw, err := encodeNode(item)
		if err != nil {
			b.error(secret, diag.InvalidScrapeConfigs, at, "line %d: %v (used by %s)", item.Line, err, instance.ID)
			continue
		}
		b.checkVariables(instance, path, string(raw))
		out = append(out, raw)
	}
	return out
}

// contentPath is where the content stands in the Secret: under stringData or data.
func contentPath(secret *manifest.Object, key string) string {
	if line, _ := secret.Position("stringData[" + key + "]"); line != 0 && secret.Has("stringData["+key+"]") {
		return "stringData[" + key + "]"
	}
	return "data[" + key + "]"
}

// maxAliases bounds what a YAML document may repeat by reference; hand-written scrape
// configurations have a few.
const maxAliases = 1000

// parseJobs reads a YAML list of mappings. Empty text is an empty list; empty items are
// dropped, as by the operator. Errors hold no text of the document, which may be secret.
func parseJobs(text []byte) ([]*yaml.Node, error) {
	var doc yaml.Node
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	if err := decoder.Decode(&doc); errors.Is(err, io.EOF) {
		return nil, nil
	} else if err != nil {
		return nil, yamlProblem(err)
	}
	var second yaml.Node
	if err := decoder.Decode(&second); err == nil {
		return nil, fmt.Errorf("line %d: a second YAML document, which the agent would ignore", second.Line)
	}
	root := doc.Content[0]
	if root.Kind == yaml.ScalarNode && root.Tag == "!!null" {
		return nil, nil
	}
	if root.Kind != yaml.SequenceNode {
		return nil, fmt.Errorf("line %d: must be a list of scrape configurations", root.Line)
	}
	if countAliases(root) > maxAliases {
		return nil, fmt.Errorf("more than %d YAML aliases", maxAliases)
	}
	var items []*yaml.Node
	for _, item := range root.Content {
		switch {
		case item.Kind == yaml.ScalarNode && item.Tag == "!!null":
		case item.Kind == yaml.MappingNode:
			items = append(items, item)
		default:
			return nil, fmt.Errorf("line %d: each item must be a mapping", item.Line)
		}
	}
	return items, nil
}

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

// yamlProblem is the parser's own words without its prefix. Syntax errors quote nothing
// of the document; what quotes a scalar is cut.
func yamlProblem(err error) error {
	text, _, _ := strings.Cut(strings.TrimPrefix(err.Error(), "yaml: "), "`")
	return fmt.Errorf("not valid YAML: %s", strings.TrimSpace(text))
}
