package pipeline_test

import (
	"fmt"

	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/gitsync/pipeline"
)

// A pipeline file is read like a manifest: a mistake has its line, and what is not set has its default.
func ExamplePipeline_Read() {
	for _, runtime := range []string{"runtime", "runtme"} {
		documents, _ := manifest.Documents(manifest.File{Path: "pipeline.yaml", Data: []byte(`
apiVersion: agentry.dev/v1alpha1
kind: Pipeline
metadata: {name: prod}
spec:
  ` + runtime + `: alloy
  sources: [{url: "https://git.example.com/fleet.git", ref: {branch: main}}]
  output: {branch: environments/prod}
`)})
		var p pipeline.Pipeline
		if wrong := p.Read(documents[0]); len(wrong) > 0 {
			fmt.Println(wrong[0])
			continue
		}
		fmt.Println(p.Metadata.Name, p.Spec.Runtime, p.Spec.Compatibility)
	}
	// Output:
	// prod alloy current
	// pipeline.yaml:6:3: error[pipeline-invalid]: spec.runtme: unknown field
}
