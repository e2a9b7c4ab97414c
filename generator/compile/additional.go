package compile

import (
	"strings"

	"go.yaml.in/yaml/v3"
	corev1 "k8s.io/api/core/v1"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/generator/model"
	"github.com/agentry-dev/agentry/generator/secretref"
)

// handWritten reports problems in the content of one Secret, as one instance uses it. The content is
// configuration, so scalars are rendered as written under every secrets policy. An error is the Secret's and
// does not hold the instance. No message contains any of the text.
type handWritten struct {
	report   *reports
	env      environment
	secret   *manifest.Object
	origin   model.Origin // the content of the Secret
	instance *manifest.Object
}

// additional returns the scrape configurations of an instance that a user wrote by hand in a Secret. It makes
// the checks that do not depend on the runtime.
func (b *builder) additional(in secretref.Scope, ref *corev1.SecretKeySelector) []model.Raw {
	const path = "spec.additionalScrapeConfigs"
	c := handWritten{report: b.report, env: b.env(), instance: in.Object()}
	if ref == nil {
		return nil
	}
	var text []byte
	text, c.secret = in.Content(path, ref)
	if c.secret == nil || b.left[c.secret.ID] {
		return nil
	}
	c.origin = model.Origin{Object: c.secret.Ref(), Path: contentPath(c.secret, ref.Key)}
	items, notes, err := parseJobs(text)
	if err != nil {
		c.found(err.Line, *err)
		return nil
	}
	for _, n := range notes {
		c.found(n.Line, n.As(diag.Warning))
	}
	if !in.LiteralsAllowed() && !in.IsEncrypted() && len(items) > 0 {
		b.report.about(c.instance, diag.ScrapeConfigsInClear.At(path,
			"the content of Secret %s/%s becomes part of the output, in clear", c.secret.Namespace, c.secret.Name))
	}
	for _, item := range items {
		if raw := (model.Raw{Job: item}); raw.Name() == "" {
			c.found(item.Line, diag.InvalidScrapeConfigs.At("", "job_name is missing"))
		}
		if size := amountOfTargets(item); size > maxObjectBytes {
			c.found(item.Line, diag.TooMuchConfiguration.At("",
				"the targets of static_configs become about %d MiB of configuration, more than %d MiB: each repeats "+
					"the labels of its list", mebibytes(size), maxObjectBytes>>20))
			return nil
		}
		c.checkVariables(item)
	}
	return c.encode(items, b.prometheus().shard)
}

// encode returns the jobs, after more has added to them.
func (c handWritten) encode(items []*yaml.Node, more func(*model.Raw)) []model.Raw {
	var out []model.Raw
	for _, item := range items {
		raw := model.Raw{Origin: c.origin, Job: item}
		if more(&raw); raw.Relabel != nil {
			rulesLast(item)
		}
		var err error
		raw.Text, err = encodeNode(item)
		if masked, hides := redacted(item, false); err == nil && hides {
			raw.Redacted, err = encodeNode(masked)
		}
		if shown, hides := redacted(item, true); err == nil && hides {
			raw.Shown, err = encodeNode(shown)
		}
		if err != nil {
			c.found(item.Line, diag.InvalidScrapeConfigs.At("", "cannot be written: %v", err))
			continue
		}
		out = append(out, raw)
	}
	return out
}

// found reports a mistake in a line of the Secret.
func (c handWritten) found(line int, d diag.Diagnostic) {
	d.Related = append([]diag.Object{c.instance.Ref()}, d.Related...)
	c.report.about(c.secret, d.InLine(line).Below(c.origin.Path))
}

// checkVariables checks all texts below a node, in which variables are expanded.
func (c handWritten) checkVariables(n *yaml.Node) {
	for _, child := range n.Content {
		c.checkVariables(child)
	}
	if n.Kind != yaml.ScalarNode || !strings.Contains(n.Value, "$") {
		return
	}
	found, ok := variables(n.Value)
	if !ok {
		c.found(n.Line, diag.EnvReference.At("", "an unfinished ${: the agent refuses the whole configuration"))
	}
	for _, v := range found {
		if !c.env.defines(v) {
			c.found(n.Line, diag.EnvReference.At("", "refers to an environment variable that is not defined: %s",
				v.consequence()).As(v.severity()).WithHint(v.hint()).With(c.env.agent.Ref()))
		}
	}
}
