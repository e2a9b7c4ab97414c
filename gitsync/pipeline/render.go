package pipeline

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/common/model"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/agentry-dev/agentry/generator/compile/integration"
	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/ignore"
	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/generator/mirror"
	"github.com/agentry-dev/agentry/generator/passthrough"
	"github.com/agentry-dev/agentry/generator/patch"
	"github.com/agentry-dev/agentry/generator/secretref"
	"github.com/agentry-dev/agentry/generator/selfmonitoring"
	"github.com/agentry-dev/agentry/generator/tenancy"
)

// ParseOptions returns the options for reading manifests.
func (s *Spec) ParseOptions() manifest.Options {
	kinds, _, _, _ := passthrough.Parse(s.PassThrough.Kinds) // validation says what is wrong
	var tenants manifest.Tenants
	if s.Tenancy != nil {
		tenants.Folders = s.Tenancy.Folders
	}
	return manifest.Options{
		Tenants:          tenants,
		PassThrough:      kinds,
		DefaultNamespace: s.DefaultNamespace,
		NamespaceFrom:    s.NamespaceFrom,
		Compatibility:    s.Compatibility,
		UnknownFields:    s.UnknownFields,
		Mentions:         secretref.Mentioned, // a search finds them after every pass
	}
}

// Refusal returns the first finding for which no commit is made, or nil.
func (s *Spec) Refusal(found diag.List) *diag.Diagnostic {
	if s.OnInvalid != OnInvalidFail {
		return nil
	}
	for _, severity := range []diag.Severity{diag.Error, diag.Warning} {
		i := slices.IndexFunc(found, func(d diag.Diagnostic) bool { return d.Severity == severity })
		if i >= 0 && (severity == diag.Error || s.FailOn == diag.Warning) {
			return &found[i]
		}
	}
	return nil
}

// Changes returns the pipeline's changes to rendered objects.
func (p *Pipeline) Changes() (*patch.Changes, diag.List) {
	return patch.New(patch.All{Workloads: p.Spec.Workloads, Patches: p.Spec.Patches, Images: p.Spec.Images},
		func(field string) patch.Place {
			at := p.Places["spec."+field]
			return patch.Place{File: at.File, Line: at.Line, Column: at.Column,
				TextLine: at.TextLine, TextColumn: at.TextColumn,
				Object: diag.Object{APIVersion: p.APIVersion, Kind: p.Kind, Name: p.Metadata.Name}}
		})
}

// validateChanges checks the settings of workloads, the patches and the images.
func validateChanges(s *Spec) findings {
	_, wrong := (&Pipeline{Spec: *s}).Changes()
	return findings(wrong.Below("spec"))
}

// validateSelfMonitoring checks the labels, which Kubernetes and Prometheus would refuse, and the names of alerts.
func validateSelfMonitoring(path string, s *selfmonitoring.Settings) findings {
	var f findings
	if s == nil {
		return f
	}
	f.check(s.Alerts != nil || s.Dashboard != nil, path, "set alerts: {} and dashboard: {}",
		"has neither alerts nor dashboard")
	labels := func(field string, labels map[string]string) {
		for _, k := range slices.Sorted(maps.Keys(labels)) {
			problems := append(validation.IsQualifiedName(k), validation.IsValidLabelValue(labels[k])...)
			f.check(len(problems) == 0, path+field, "", "the label %s=%s: %s", k, labels[k],
				diag.NameRule(strings.Join(problems, "; ")))
		}
	}
	if d := s.Dashboard; d != nil {
		labels(".dashboard.labels", d.Labels)
		for _, k := range slices.Sorted(maps.Keys(d.Annotations)) {
			f.all(path+".dashboard.annotations", validation.IsQualifiedName(strings.ToLower(k)))
		}
	}
	a := s.Alerts
	if a == nil {
		return f
	}
	labels(".alerts.labels", a.Labels)
	for _, k := range slices.Sorted(maps.Keys(a.AlertLabels)) {
		valid := model.LegacyValidation.IsValidLabelName(k) && !strings.HasPrefix(k, "__") && k != "alertname"
		f.check(valid, path+".alerts.alertLabels", "", "%q cannot be the label of an alert", k)
	}
	for i, name := range a.Disabled {
		names := selfmonitoring.AlertNames()
		f.check(slices.Contains(names, name), fmt.Sprintf("%s.alerts.disabled[%d]", path, i),
			cmp.Or(diag.DidYouMean(name, names), "use one of "+strings.Join(names, ", ")), "%q is not supported", name)
	}
	return f
}

// validateMirror checks how Secrets of other namespaces get to the pods.
func validateMirror(path string, m *mirror.Settings) findings {
	var f findings
	if m == nil {
		return f
	}
	e := m.ExternalSecret
	f.check((e != nil) != (m.Reflector != ""), path, "set one of the two",
		"needs externalSecret or reflector, and not both")
	if e == nil {
		return f
	}
	path += ".externalSecret"
	f.check(e.Copy || e.Kubernetes || e.Store != nil, path, "set copy, store or kubernetes",
		"does not say where the values are")
	f.check(!e.Kubernetes || e.Store == nil, path, "remove one of the two", "has both store and kubernetes")
	interval, err := time.ParseDuration(e.RefreshInterval)
	f.check(e.RefreshInterval == "" || err == nil && interval >= 0, path+".refreshInterval", "write it like 1h",
		"%q is not a duration", e.RefreshInterval)
	if e.Store == nil {
		return f
	}
	f.check(len(validation.IsDNS1123Subdomain(e.Store.Name)) == 0, path+".store.name", "",
		"%q is not the name of a store", e.Store.Name)
	const example = "write it like kv/{namespace}/{name}"
	f.check(strings.Contains(e.Store.Path, "{name}"), path+".store.path", example,
		"has no {name}: all Secrets would be one")
	f.check(strings.Contains(e.Store.Path, "{namespace}"), path+".store.path", example,
		"has no {namespace}: a namespace could read the Secrets of another")
	return f
}

// validateIntegrations checks the entries of the catalogue: each one alone, so that its path is known, and then
// all together.
func validateIntegrations(path string, entries []integration.Entry) findings {
	var f findings
	catalogue := integration.Default()
	for i := range entries {
		extended, wrong := catalogue.Extend(entries[i : i+1])
		if wrong != nil {
			f.check(false, fmt.Sprintf("%s[%d]", path, i), "", "%s", wrong.Message)
			continue
		}
		catalogue = extended
	}
	if len(f) == 0 {
		_, wrong := integration.Default().Extend(entries)
		f.check(wrong == nil, path, "", "%v", wrong)
	}
	return f
}

// Tenancy limits the objects that each of the teams sharing the inputs may define, and the settings of these objects.
type Tenancy struct {
	// Folders says which files are a tenant's: a pattern such as `teams/{namespace}/**`, in which `*` is any name. What
	// such a file has a say in must be in that namespace. All other files are the platform's, except in sources with a
	// tenant.
	Folders string `json:"folders,omitempty"`
	// Rules allow the objects of tenants more, by their namespaces. The first rule that matches counts.
	Rules []tenancy.Rule `json:"rules,omitempty"`
}

func validateTenancy(s *Spec) findings {
	var f findings
	ofSource := false
	for i, src := range s.Sources {
		if src.Tenant != "" {
			ofSource = true
			f.name(fmt.Sprintf("spec.sources[%d].tenant", i), src.Tenant, diag.LabelName)
		}
	}
	t := s.Tenancy
	if t == nil {
		return f
	}
	if t.Folders != "" || !ofSource {
		err := manifest.CheckTenants(t.Folders)
		f.check(err == nil, "spec.tenancy.folders", "write it like teams/{namespace}/**", "%v", err)
	}
	for i, rule := range t.Rules {
		at := fmt.Sprintf("spec.tenancy.rules[%d]", i)
		for _, list := range [...]struct {
			field string
			texts []string
		}{{"namespaces", rule.Namespaces}, {"agents", rule.Agents}, {"urls", rule.URLs}, {"secrets", rule.Secrets}} {
			f.check(!slices.Contains(list.texts, ""), at+"."+list.field, "remove it", "an item is empty")
		}
		for k, text := range rule.URLs {
			err := tenancy.CheckURL(text)
			f.check(text == "" || err == nil, fmt.Sprintf("%s.urls[%d]", at, k),
				"write it like https://mimir.example.com/*", "%v", err)
		}
	}
	return f
}

// validateIgnore checks the rules for objects that are meant for no GrafanaAgent.
func validateIgnore(path string, rules ignore.Rules) findings {
	var f findings
	for i, rule := range rules {
		at := fmt.Sprintf("%s[%d]", path, i)
		f.check(len(rule.Paths) > 0, at+".paths", "name folders or files, such as apps/legacy", "must not be empty")
		for k, pattern := range rule.Paths {
			err := manifest.CheckPath(pattern)
			f.check(err == nil, fmt.Sprintf("%s.paths[%d]", at, k), "write it like apps/legacy or teams/*/legacy", "%v",
				err)
		}
		f.check(strings.TrimSpace(rule.Reason) != "", at+".reason",
			"say why no GrafanaAgent here is meant to select the objects", "must not be empty")
	}
	return f
}
