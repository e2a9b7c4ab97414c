package gitsync_test

import (
	"os"
	"strings"
	"testing"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/inputs/helm"
)

// TestAnotherRevisionThanThePipelineReadsIsAWarning: once for each source of Flux, and for each Application.
func TestAnotherRevisionThanThePipelineReadsIsAWarning(t *testing.T) {
	flux := func(ref string) *lab {
		l := newLab(t)
		l.files, _ = fluxed()
		l.files["in/source.yaml"] = "apiVersion: source.toolkit.fluxcd.io/v1\nkind: GitRepository\n" +
			"metadata: {name: flux-system, namespace: flux-system}\nspec: {url: " + l.pipeline.Spec.Sources[0].URL +
			", ref: " + ref + "}\n"
		l.pipeline.Spec.Sources[0].Build = "flux"
		return l
	}
	argo := func(revision string) *lab {
		l, built, _ := argoLab(t)
		l.files = built
		l.files["in/root.yaml"] = strings.Replace(built["in/root.yaml"], "path: apps",
			"path: apps, targetRevision: "+revision, 1)
		return l
	}
	set := func(generator string) *lab {
		l, built, _ := argoLab(t)
		url := l.pipeline.Spec.Sources[0].URL
		l.files = built
		l.files["apps/set.yaml"] = strings.Replace(built["apps/set.yaml"], "{git: {repoURL: "+url+",",
			strings.ReplaceAll(generator, "@", url)+",", 1)
		return l
	}
	chart := func() *lab {
		l := flux("{branch: main}")
		l.options.Charts = helm.NewWorkers(helm.Options{Command: []string{os.Args[0]}, Env: []string{chartsEnv + "=1"}})
		t.Cleanup(l.options.Charts.Close)
		l.files["in/charts.yaml"] = strings.NewReplacer("name: flux-system,", "name: charts,", "branch: main",
			"branch: next").Replace(l.files["in/source.yaml"])
		for _, name := range []string{"one", "two"} {
			l.files["in/"+name+".yaml"] = "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: " + name + ", namespace: flux-system}\n" +
				"spec: {chart: {spec: {chart: charts/shop, sourceRef: {kind: GitRepository, name: charts}}}}\n"
		}
		l.files["charts/shop/Chart.yaml"] = "apiVersion: v2\nname: shop\nversion: 1.0.0\n"
		return l
	}
	for name, c := range map[string]struct {
		lab  *lab
		want string
	}{
		"Flux: the branch": {lab: flux("{branch: main}")},
		"Flux: another branch": {flux("{branch: next}"),
			`in/flux-system/gotk-sync.yaml: warning[other-revision]: spec.sourceRef: "next" is not the revision of this repository that the pipeline reads: branch main`},
		"Flux: a tag counts more": {flux("{branch: main, tag: v1}"), `"v1" is not the revision`},
		"Flux: only of charts": {chart(),
			`in/one.yaml: warning[other-revision]: spec.chart.spec.sourceRef: "next" is not the revision`},
		"Argo CD: the branch": {lab: argo("refs/heads/main")},
		"Argo CD: the newest": {lab: argo("HEAD")},
		"Argo CD: another version": {argo("v1.2"),
			`in/root.yaml: warning[other-revision]: spec.source.targetRevision: "v1.2" is not the revision of this repository that the pipeline reads: branch main`},
		"Argo CD: folders of the branch": {lab: set("{git: {revision: main, repoURL: @")},
		"Argo CD: folders of another version": {set("{git: {revision: v1.2, repoURL: @"),
			`apps/set.yaml: warning[other-revision]: spec.generators[0].git.revision: "v1.2" is not the revision of this repository that the pipeline reads: branch main`},
		"Argo CD: folders of some repository": {lab: set("{git: {revision: '{{branch}}', repoURL: @")},
		"Argo CD: folders below a merge of another": {
			set("{merge: {mergeKeys: [path], generators: [{git: {revision: v1.2, repoURL: @, directories: [{path: " +
				"none/*}]}}, {git: {repoURL: @, directories: [{path: none/*}]}}]}}, {git: {revision: main, repoURL: @"),
			`spec.generators[0].merge.generators[0].git.revision: "v1.2" is not the revision`},
	} {
		c.lab.input(nil)
		report := c.lab.pass()
		var got []string
		for _, d := range report.Diags {
			if d.Code != diag.OtherRevision {
				continue // of the fixture's variables
			}
			if d.Line == 0 || d.Object.Name == "" {
				t.Errorf("%s: %v", name, d)
			}
			d.Line, d.Column = 0, 0
			got = append(got, d.String())
		}
		if text := strings.Join(got, "\n"); len(got) > 1 || (c.want == "") != (text == "") ||
			!strings.Contains(text, c.want) {
			t.Errorf("%s: told is %s", name, text)
		}
		if report.Commit == "" {
			t.Errorf("%s: nothing is rendered", name)
		}
	}
}
