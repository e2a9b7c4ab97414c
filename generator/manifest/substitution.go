package manifest

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/internal/lazyregexp"
)

// fluxVariable is a variable that Flux's kustomize-controller replaces when it applies a Kustomization with
// spec.postBuild: ${NAME}, also with a shell's operators, as in ${NAME:=30s}. The name, which is the second group, has
// the form that spec.postBuild.substitute demands. A second dollar before it makes it text.
var fluxVariable = lazyregexp.New(`(^|[^$])\$\{([A-Za-z_][A-Za-z0-9_]*)([-:=,^/#%][^}]*)?\}`)

// fluxKeepsText is the annotation of objects in which Flux replaces nothing.
const fluxKeepsText = "kustomize.toolkit.fluxcd.io/substitute"

// expandedElsewhere are fields in which ${NAME} can mean something else: the agent's environment, a group of a
// regular expression, or the shell of a container. What is wrong with it there is found later.
var expandedElsewhere = map[string]bool{
	"relabelings": true, "metricRelabelings": true, "relabelConfigs": true, "writeRelabelConfigs": true,
	"metricRelabelConfigs": true,
	"apiServer":            true, "externalLabels": true, "enforcedNamespaceLabel": true, "pipelineStages": true,
	"matchStages": true, "config": true, "remoteWrite": true, "clients": true, "proxyUrl": true,
	"containers": true, "initContainers": true, "volumes": true,
}

// variablesOfFlux says of what was found in fields with a variable of Flux that the variable is the cause, and
// reports such a variable in any other field: it would be used as text. A variable whose value is unknown is an error
// in each field: what Flux puts there cannot be rendered. postBuild is [Built.PostBuild].
func (f *findings) variablesOfFlux(w rawObject, meta *metav1.ObjectMeta, unknown map[string]string,
	postBuild string) {
	if !w.at.mayHold("${") || meta.Annotations[fluxKeepsText] == "disabled" {
		return
	}
	search := substitutionSearch{findings: f, caused: map[string]int{}, unknown: unknown,
		way: "read the repository with build: flux, if a Kustomization has it in postBuild"}
	if postBuild != "" {
		search.way = "give the variable in " + postBuild
	}
	for i, found := range *f {
		search.caused[found.Path] = i
	}
	search.value("metadata.name", meta.Name, false)
	search.value("metadata.namespace", meta.Namespace, false)
	for _, key := range slices.Sorted(maps.Keys(meta.Labels)) {
		search.value("metadata.labels["+key+"]", meta.Labels[key], false)
	}
	for _, key := range slices.Sorted(maps.Keys(w.raw)) {
		// A Secret's or ConfigMap's text is its user's.
		if len(unknown) > 0 || key != "data" && key != "stringData" && key != "binaryData" {
			search.value(key, w.raw[key], false)
		}
	}
}

// quotedForFlux says how to quote values of variables that Flux replaced. Quotes of YAML do not help: kustomize drops
// them before.
func (f *findings) quotedForFlux(w rawObject) {
	if w.at.withVariables == "" {
		return
	}
	for i, found := range *f {
		if !strings.HasPrefix(found.Hint, quoteHint) {
			continue
		}
		_, value, rest := Walk(w.at.before(), found.Path)
		if match := fluxVariable.FindStringSubmatch(value.Value); rest == "" && match != nil &&
			diag.MayQuote("", match[2]) {
			variable := "${" + match[2] + "}" // without a default, which may be a credential
			(*f)[i].Hint = fmt.Sprintf(
				"kustomize drops quotes around %s before Flux replaces it: set quote: '\"' in postBuild.substitute, "+
					"and write ${quote}%[1]s${quote}", variable)
		}
	}
}

// substitutionSearch finds variables of Flux in an object.
type substitutionSearch struct {
	*findings
	caused  map[string]int    // findings by path
	unknown map[string]string // see [Built.Unknown]
	way     string            // to the value of a variable
}

func (s *substitutionSearch) value(path string, value any, elsewhere bool) {
	switch value := value.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(value)) {
			s.value(join(path, key), value[key], elsewhere || expandedElsewhere[key])
		}
	case []any:
		for i, item := range value {
			s.value(fmt.Sprintf("%s[%d]", path, i), item, elsewhere)
		}
	case string:
		if strings.Contains(value, "${") {
			s.text(path, value, elsewhere)
		}
	}
}

func (s *substitutionSearch) text(path, text string, elsewhere bool) {
	if s.unknownIn(path, text) {
		return
	}
	match := fluxVariable.FindStringSubmatch(text)
	if match == nil || !diag.MayQuote("", match[2]) {
		return
	}
	variable := "${" + match[2] + "}" // without a default, which may be a credential
	hint := "write the value, or " + s.way + "; to keep the text, annotate the object with " + fluxKeepsText +
		": disabled"
	if i, found := s.caused[path]; found {
		(*s.findings)[i].Hint = "Flux would replace " + variable +
			", and agentry reads it as it is: write the value, or " + s.way
	} else if !elsewhere {
		s.warn(diag.FluxVariable, path, variable+" is used as text: nothing replaces it here", hint)
	}
}

// UnknownVariable returns the error about the first field of a value at a path that has a variable of Flux whose value
// is unknown, or nil.
func (b *Built) UnknownVariable(path string, value any) *diag.Diagnostic {
	var found findings
	search := substitutionSearch{findings: &found, unknown: b.Unknown}
	search.value(path, value, true)
	for i := range found {
		if found[i].Severity == diag.Error {
			return &found[i]
		}
	}
	return nil
}

// unknownIn reports the first variable in a field whose value is unknown, in place of what else was found there.
func (s *substitutionSearch) unknownIn(path, text string) bool {
	for _, name := range slices.Sorted(maps.Keys(s.unknown)) {
		variable := "${" + name + "}"
		if !strings.Contains(text, variable) {
			continue
		}
		d := diag.FluxVariable.At(path, "the value of %s %s", variable, s.unknown[name]).As(diag.Error).
			Because(diag.Cause{Things: "fields", Problem: "have variables whose values are unknown", Of: variable,
				Reason: "its value " + s.unknown[name]})
		if i, found := s.caused[path]; found {
			(*s.findings)[i] = d
		} else {
			*s.findings = append(*s.findings, d)
		}
		return true
	}
	return false
}

// join returns the path of a field of an object.
func join(path, key string) string {
	switch {
	case path == "":
		return key
	case strings.ContainsAny(key, "./"):
		return path + "[" + key + "]"
	}
	return path + "." + key
}
