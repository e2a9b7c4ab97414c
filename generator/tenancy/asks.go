package tenancy

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/agentry-dev/agentry/generator/api/v1alpha1"
	"github.com/agentry-dev/agentry/generator/internal/expand"
	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/generator/secretref"
)

// place is a field with a URL, or with the name of a Secret.
type place struct{ path, text string }

// secrets returns the Secrets and ConfigMaps that an object refers to, by a key or as a whole.
func secrets(o *manifest.Object) (out []place) {
	known := map[string]bool{}
	for _, f := range secretref.References(o) {
		known[f.Ref.Name] = true
		out = append(out, place{f.Path, f.Ref.Name})
	}
	for _, id := range secretref.Mentioned(o) {
		if !known[id.Name] {
			out = append(out, place{"spec", id.Name})
		}
	}
	if v, ok := o.Value().(*v1alpha1.GrafanaAgent); ok {
		for i, name := range v.Spec.Secrets {
			out = append(out, place{fmt.Sprintf("spec.secrets[%d]", i), name})
		}
		for i, name := range v.Spec.ConfigMaps {
			out = append(out, place{fmt.Sprintf("spec.configMaps[%d]", i), name})
		}
	}
	return out
}

// urls returns the fields with URLs to which an object makes its GrafanaAgent send requests.
func urls(o *manifest.Object) (out []place) {
	add := func(path, url string) {
		if url != "" {
			out = append(out, place{path, url})
		}
	}
	switch v := o.Value().(type) {
	case *v1alpha1.MetricsInstance:
		for i, w := range v.Spec.RemoteWrite {
			at := fmt.Sprintf("spec.remoteWrite[%d]", i)
			add(at+".url", w.URL)
			add(at+".proxyUrl", w.ProxyURL)
		}
	case *v1alpha1.LogsInstance:
		for i, client := range v.Spec.Clients {
			at := fmt.Sprintf("spec.clients[%d]", i)
			add(at+".url", client.URL)
			add(at+".proxyUrl", client.ProxyURL)
		}
	}
	return out
}

// variable returns the path of a field of an object's writer or client that refers to an environment variable of the
// agent, or "".
func variable(o *manifest.Object) string {
	var list any
	path := ""
	switch v := o.Value().(type) {
	case *v1alpha1.MetricsInstance:
		list, path = v.Spec.RemoteWrite, "spec.remoteWrite"
	case *v1alpha1.LogsInstance:
		list, path = v.Spec.Clients, "spec.clients"
	default:
		return ""
	}
	text, err := json.Marshal(list)
	if err != nil {
		return path // its value is unknown
	}
	var tree any
	if json.Unmarshal(text, &tree) != nil {
		return path
	}
	return reference(path, tree)
}

// reference returns the path of the first text below a value that refers to an environment variable, or "". It skips
// relabelings, in which nothing is expanded.
func reference(path string, value any) (found string) {
	switch value := value.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(value)) {
			if key != "writeRelabelConfigs" && found == "" {
				found = reference(path+"."+key, value[key])
			}
		}
	case []any:
		for i, item := range value {
			if found == "" {
				found = reference(fmt.Sprintf("%s[%d]", path, i), item)
			}
		}
	case string:
		if refs, ok := expand.References(value); len(refs) > 0 || !ok {
			return path
		}
	}
	return found
}

// handWritten returns the path of the field with hand-written jobs, or "".
func handWritten(o *manifest.Object) string {
	switch v := o.Value().(type) {
	case *v1alpha1.MetricsInstance:
		if v.Spec.AdditionalScrapeConfigs != nil {
			return "spec.additionalScrapeConfigs"
		}
	case *v1alpha1.LogsInstance:
		if v.Spec.AdditionalScrapeConfigs != nil {
			return "spec.additionalScrapeConfigs"
		}
	}
	switch o.Kind {
	case "ScrapeConfig":
		return "spec"
	case v1alpha1.IntegrationKind, v1alpha1.MetricsIntegrationKind:
		return "spec.config"
	}
	return ""
}

// paths checks that the relabelings of a tenant's PodLogs cannot choose the files that are read on the node.
func (c *check) paths(o *manifest.Object) {
	if o.Tenant == "" {
		return
	}
	mayLack := false // a label in the file path may be missing
	for i, r := range manifest.As[v1alpha1.PodLogs](o).Spec.RelabelConfigs {
		if r == nil {
			continue
		}
		at := fmt.Sprintf("spec.relabelings[%d]", i)
		switch isPath := r.IsPodLogPath(); {
		case isPath && mayLack: // with an empty UID, the path covers all pods
			c.refuseFiles(o, at, "sets the path of log files after a labeldrop or labelkeep, which may remove "+
				"the pod's labels from the path")
		case !isPath && mayWriteHidden(r):
			c.refuseFiles(o, at, "may write a label that decides which files of the node are read")
		}
		mayLack = mayLack || strings.EqualFold(r.Action, "labeldrop") || strings.EqualFold(r.Action, "labelkeep")
	}
}

// ofObject matches the regular expression of a labelmap that copies the labels or annotations of an object. Their
// names begin with a letter or a digit, which Kubernetes checks. The kind must be a single word:
// __meta_kubernetes_pod_annotation_x_label_(.+) would copy what follows x/label_ in the name of an annotation, and
// that can begin with underscores.
var ofObject = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^__meta_kubernetes_[a-z]+_(label|annotation)(present)?_\(\.[+*]\)$`)
})

// mayWriteHidden reports whether a rule may write a label that begins with two underscores, such as the file path and
// the labels from which the path is made. Labels that begin with __tmp_ are only for the rules themselves, and
// allowed.
func mayWriteHidden(r *v1alpha1.RelabelConfig) bool {
	target, isMap := r.TargetLabel, strings.EqualFold(r.Action, "labelmap")
	switch {
	case isMap && r.Replacement == nil:
		target = "$1"
	case isMap:
		target = *r.Replacement
	}
	literal, template, isTemplate := strings.Cut(target, "$")
	switch {
	case strings.HasPrefix(literal, "__tmp_"):
		return false
	case !isTemplate || len(literal) > 1:
		return strings.HasPrefix(literal, "__")
	case literal == "":
		// $1x is another, empty group, so text can follow only a group in braces.
		first := template == "1" || strings.HasPrefix(template, "{1}")
		return !first || !isMap || r.Regex == nil || !ofObject().MatchString(*r.Regex)
	}
	return literal == "_"
}
