package pipelinefile

import (
	"bytes"
	"errors"
	"io"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/gitsync/pipeline"
)

// Names returns the names of the files in which a pipeline is looked for.
func Names() []string { return []string{"pipeline.yaml", "agentry.yaml"} }

// functionAnnotation marks the configuration of a KRM function, which kustomize and kpt give to agentry function.
const functionAnnotation = "config.kubernetes.io/function"

// IsMeant reports whether a file with one of the [Names] is meant as a pipeline file, valid or not. It is not if all
// documents in it are clearly something else, such as a Pipeline of Tekton: a file with a mistake must not count as
// none.
func IsMeant(text []byte) bool {
	isEmpty := true
	for decoder := yaml.NewDecoder(bytes.NewReader(text)); ; {
		var document any
		switch err := decoder.Decode(&document); {
		case errors.Is(err, io.EOF):
			return isEmpty
		case err != nil:
			return true
		case document == nil:
			continue
		}
		isEmpty = false
		if fields, ok := document.(map[string]any); ok && isMeant(fields) {
			return true
		}
	}
}

func isMeant(fields map[string]any) bool {
	metadata, _ := fields["metadata"].(map[string]any)
	annotations, _ := metadata["annotations"].(map[string]any)
	if annotations[functionAnnotation] != nil {
		return false
	}
	version, _ := fields["apiVersion"].(string)
	kind, _ := fields["kind"].(string)
	group, _, hasGroup := strings.Cut(strings.ToLower(version), "/")
	ours, _, _ := strings.Cut(pipeline.APIVersion, "/")
	name, _, _ := strings.Cut(ours, ".")
	switch {
	case strings.Contains(group, name) || hasGroup && diag.DidYouMean(group, []string{ours}) != "":
		return true
	case hasGroup:
		return false // of another program
	case kind != "":
		return strings.EqualFold(kind, pipeline.Kind) || diag.DidYouMean(kind, []string{pipeline.Kind}) != ""
	}
	return fields["spec"] != nil
}
