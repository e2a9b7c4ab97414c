package pipelinefile

import "testing"

// TestBranchNamesAreTemplates: image-automation-controller#524, #938, argocd-image-updater#1060. The branch, the path
// and the name of a pipeline are templates with the folder that it is made for, so that each folder has its own
// proposals.
func TestBranchNamesAreTemplates(t *testing.T) {
	made, found := one(t, `apiVersion: agentry.dev/v1alpha1
kind: Pipeline
metadata: {name: "{{ .path.basename }}"}
spec:
  forEach: clusters/*
  sources: [{url: "https://git.example.com/a.git", ref: {branch: main}, paths: ["{{ .path.path }}"]}]
  output:
    branch: "render/{{ .path.basename | lower }}"
    path: "apps/{{ .path.basename }}"
    promotion: {mode: next}
`).Expand([]string{"clusters/eu", "clusters/us"})
	if len(found) > 0 || len(made) != 2 {
		t.Fatal(report(t, found))
	}
	for i, name := range []string{"eu", "us"} {
		out := made[i].Spec.Output
		if made[i].Metadata.Name != name || out.Branch != "render/"+name || out.Path != "apps/"+name ||
			out.ProposedBranch() != "render/"+name+"-next/apps/"+name {
			t.Errorf("%s: %+v, proposed on %s", name, out, out.ProposedBranch())
		}
	}
}
