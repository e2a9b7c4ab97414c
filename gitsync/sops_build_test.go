package gitsync_test

import (
	"fmt"
	"maps"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentry-dev/agentry/generator/secretref"
	"github.com/agentry-dev/agentry/inputs/helm"
	"github.com/agentry-dev/agentry/inputs/sops"
)

// hides checks that no finding of the last pass, and no file of the output but Secrets, has a decrypted value.
func hides(t *testing.T, l *lab) {
	t.Helper()
	seen := fmt.Sprint(l.pass().Diags)
	for name, e := range l.remote.read("env") {
		if !strings.HasSuffix(name, ".secret.yaml") {
			seen += name + "\n" + e.text
		}
	}
	if i := strings.Index(seen, "-password"); i >= 0 {
		t.Errorf("a decrypted value is outside of Secrets: %s", seen[max(0, i-300):i+20])
	}
}

// TestSealedFilesOfGenerators are decrypted before they are built, in each of SOPS's formats; one that no key decrypts
// is an error where its value is needed.
func TestSealedFilesOfGenerators(t *testing.T) {
	const kustomization = "namespace: a\nresources: [agent.yaml, web.yaml]\n" +
		"generatorOptions: {disableNameSuffixHash: true}\nsecretGenerator: [{name: login, %s}]\n"
	for name, c := range map[string]struct {
		generator string
		files     map[string]string
		login     string // how the monitor names the keys
		password  string
	}{
		"variables": {"envs: [login.env]", map[string]string{"login.env": "age.env"}, "user: USER, password: PASSWORD",
			"first-password"},
		"a binary": {"files: [password=login.bin], literals: [user=admin]", map[string]string{"login.bin": "age.bin"},
			"user: user, password: password", `"first-password\n"`},
	} {
		t.Run(name, func(t *testing.T) {
			keys := strings.NewReplacer("user: ", "", "password: ", "").Replace(c.login)
			user, password, _ := strings.Cut(keys, ", ")
			web := strings.NewReplacer("key: user", "key: "+user, "key: password",
				"key: "+password).Replace(login("http"))
			secret := fmt.Sprintf(
				"apiVersion: v1\nkind: Secret\nmetadata: {name: login, namespace: a}\nstringData: {%s: admin, %s: %s}\n", user, password, c.password)
			like := map[string]string{"in/a/agent.yaml": agent("a"), "in/a/web.yaml": web, "in/a/login.yaml": secret}
			l := newSOPSLab(t, secretref.Plaintext)
			l.files = map[string]string{"in/a/kustomization.yaml": fmt.Sprintf(kustomization, c.generator),
				"in/a/agent.yaml": agent("a"), "in/a/web.yaml": web}
			for at, from := range c.files {
				l.files["in/a/"+at] = sealedFile(t, from)
			}
			runSteps(t, l, step{like: like})
			hides(t, l)
			l.creds.Decryption = []sops.Key{{Name: "ssh.agekey", Text: []byte(sealedFile(t, "ssh.agekey"))}}
			before := l.unitFiles()
			l.input(map[string]string{"in/a/web.yaml": strings.Replace(web, "port: http", "port: web", 1)})
			if found := l.pass().Diags; !strings.Contains(fmt.Sprint(found),
				"error[encrypted-secret]: spec.endpoints[0].basicAuth.password: Secret a/login, key "+password) {
				t.Error(found)
			}
			if diff := cmp.Diff(before, l.unitFiles(), cmp.AllowUnexported(entry{})); diff != "" {
				t.Errorf("without the key, the output changes:\n%s", diff)
			}
		})
	}
}

// TestSealedPatches are decrypted before they are built. Without the key, a patched Secret counts as encrypted.
func TestSealedPatches(t *testing.T) {
	const kustomization = "resources: [agent.yaml, web.yaml, base.yaml]\npatches: [{path: patch.yaml}]\n"
	const base = "apiVersion: v1\nkind: Secret\nmetadata: {name: login, namespace: a}\n" +
		"stringData: {password: %s, user: %s}\n"
	web := login("http")
	l := newSOPSLab(t, secretref.Plaintext)
	l.files = map[string]string{"in/a/kustomization.yaml": kustomization, "in/a/agent.yaml": agent("a"),
		"in/a/web.yaml":  web,
		"in/a/base.yaml": fmt.Sprintf(base, "of-the-base", "nobody"), "in/a/patch.yaml": sealedFile(t, "age.yaml")}
	like := map[string]string{"in/a/agent.yaml": agent("a"), "in/a/web.yaml": web,
		"in/a/base.yaml": fmt.Sprintf(base, "first-password", "admin")}
	runSteps(t, l, step{like: like})
	hides(t, l)
	l.creds.Decryption = []sops.Key{{Name: "ssh.agekey", Text: []byte(sealedFile(t, "ssh.agekey"))}}
	l.input(map[string]string{"in/a/web.yaml": strings.Replace(web, "port: http", "port: web", 1)})
	if found := fmt.Sprint(l.pass().Diags); !strings.Contains(found,
		"error[encrypted-secret]: spec.endpoints[0].basicAuth.username: Secret a/login cannot be decrypted") {
		t.Error(found)
	}
	// A patch of something else cannot be left out.
	monitor := strings.Replace(sealedFile(t, "age.yaml"), "kind: Secret", "kind: ServiceMonitor", 1)
	l.input(map[string]string{"in/a/patch.yaml": monitor})
	if found := fmt.Sprint(l.pass().Diags); !strings.Contains(found,
		"in/a/kustomization.yaml:2:18: error[encrypted-secret]: patches[0].path: in/a/patch.yaml cannot be "+
			"decrypted: none of the keys decrypts it") {
		t.Error(found)
	}
}

// TestSealedFilesUnderReference are decrypted if their values decide a name, and else no process is started.
func TestSealedFilesUnderReference(t *testing.T) {
	const kustomization = "resources: [agent.yaml, web.yaml]\n" +
		"secretGenerator: [{name: login, namespace: a, envs: [login.env]}]\nconfigurations: [names.yaml]\n"
	const names = "nameReference: [{kind: Secret, fieldSpecs: [{kind: ServiceMonitor, path: " +
		"spec/endpoints/basicAuth/password/name}, {kind: ServiceMonitor, path: " +
		"spec/endpoints/basicAuth/username/name}]}]\n"
	web := strings.NewReplacer("key: user", "key: USER", "key: password", "key: PASSWORD").Replace(login("http"))
	files := map[string]string{"in/a/names.yaml": names, "in/a/agent.yaml": agent("a"), "in/a/web.yaml": web,
		"in/a/kustomization.yaml": kustomization, "in/a/login.env": sealedFile(t, "age.env")}
	clear := maps.Clone(files)
	clear["in/a/login.env"] = "USER=admin\nPASSWORD=first-password\n"
	render := func(files map[string]string, program string) tree {
		t.Helper()
		l := newSOPSLab(t, secretref.Reference)
		if program != "" {
			l.options.SOPS = sops.NewWorkers(sops.Options{Command: []string{program}})
		}
		l.files = files
		l.input(nil)
		if diags := l.pass().Diags; len(diags) > 0 {
			t.Error(diags)
		}
		hides(t, l)
		return l.unitFiles()
	}
	of := render(files, "")
	if diff := cmp.Diff(render(clear, ""), of, cmp.AllowUnexported(entry{})); diff != "" {
		t.Error(diff)
	}
	if !strings.Contains(fmt.Sprint(of), "login-") {
		t.Errorf("no name has a suffix: %v", of)
	}
	files["in/a/kustomization.yaml"] += "generatorOptions: {disableNameSuffixHash: true}\n"
	clear["in/a/kustomization.yaml"] = files["in/a/kustomization.yaml"]
	if diff := cmp.Diff(render(clear, ""), render(files, "/no/such/program"), cmp.AllowUnexported(entry{})); diff !=
		"" {
		t.Error(diff)
	}
}

// TestSealedVariablesOfFlux are substituted, and are secret.
func TestSealedVariablesOfFlux(t *testing.T) {
	const kustomization = "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\n" +
		"metadata: {name: apps, namespace: a}\n" +
		"spec: {path: ./apps, decryption: {provider: sops}, sourceRef: {kind: GitRepository, name: flux-system, " +
		"namespace: flux-system}, postBuild: {substituteFrom: [{kind: Secret, name: login}]}}\n"
	web := strings.ReplaceAll(monitor("a", "web", "http"), "port: http",
		`port: "${user}", params: {token: ["${password}"]}`)
	l := newSOPSLab(t, secretref.Plaintext)
	l.pipeline.Spec.Sources[0].Build = "flux"
	l.files = map[string]string{"in/apps.yaml": kustomization, "in/login.yaml": sealedFile(t, "age.yaml"),
		"apps/agent.yaml": agent("a"), "apps/web.yaml": web}
	values := strings.NewReplacer("${user}", "admin", "${password}", "first-password")
	like := map[string]string{"in/a/agent.yaml": agent("a"), "in/a/web.yaml": values.Replace(web)}
	runSteps(t, l, step{like: like},
		step{edit: map[string]string{"apps/web.yaml": strings.Replace(web, `port: "$`,
			`interval: "${password}", port: "$`, 1)}, like: like, wrong: "invalid-field",
			held: []string{"ServiceMonitor/a/web in a/agent: version 1 since 3"}})
	hides(t, l)
	// Another key decrypts nothing: what its variables reach is held, and a warning is at the reference.
	l.creds.Decryption = []sops.Key{{Name: "ssh.agekey", Text: []byte(sealedFile(t, "ssh.agekey"))}}
	runSteps(t, l, step{edit: map[string]string{"apps/web.yaml": web}, like: like, wrong: "flux-variable flux-variable",
		held: []string{"ServiceMonitor/a/web in a/agent: no version since 5"}})
	if found := fmt.Sprint(l.pass().Diags); !strings.Contains(found, "in/apps.yaml:4") ||
		!strings.Contains(found, "spec.postBuild.substituteFrom[0]: Secret a/login cannot be decrypted: none of the "+
			"keys decrypts it; it is encrypted for age") {
		t.Error(found)
	}
}

// TestSealedValuesOfCharts decide what a chart gives, under each policy. Without the key there is a warning at the
// reference, and the chart has its own values.
func TestSealedValuesOfCharts(t *testing.T) {
	const release = "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: shop, namespace: a}\n" +
		"spec: {chart: {spec: {chart: charts/shop, sourceRef: {kind: GitRepository, name: flux-system, namespace: " +
		"flux-system}}}, valuesFrom: [{kind: Secret, name: login, valuesKey: user, targetPath: port}]}\n"
	l := newSOPSLab(t, secretref.Reference)
	l.options.Charts = helm.NewWorkers(helm.Options{Command: []string{os.Args[0]}, Env: []string{chartsEnv + "=1"}})
	t.Cleanup(l.options.Charts.Close)
	l.pipeline.Spec.Sources[0].Build = "flux"
	l.files = map[string]string{"in/release.yaml": release, "in/login.yaml": sealedFile(t, "age.yaml"),
		"in/agent.yaml":                      agent("a"),
		"charts/shop/Chart.yaml":             "apiVersion: v2\nname: shop\nversion: 1.0.0\n",
		"charts/shop/values.yaml":            "port: http\n",
		"charts/shop/templates/monitor.yaml": monitor("a", "web", "{{ .Values.port }}")}
	like := func(port string) map[string]string {
		return map[string]string{"in/web.yaml": monitor("a", "web", port)}
	}
	runSteps(t, l, step{like: like("admin")})
	if diags := l.pass().Diags; len(diags) > 0 {
		t.Error(diags)
	}
	l.creds.Decryption = []sops.Key{{Name: "ssh.agekey", Text: []byte(sealedFile(t, "ssh.agekey"))}}
	runSteps(t, l, step{edit: map[string]string{"in/note.txt": "x"}, like: like("http")})
	if found := fmt.Sprint(l.pass().Diags); !strings.Contains(found, "warning[encrypted-secret]") ||
		!strings.Contains(found, "spec.valuesFrom[0]: Secret a/login cannot be decrypted") {
		t.Error(found)
	}
}
