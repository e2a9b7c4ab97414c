package kustomize_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/inputs/kustomize"
	"github.com/agentry-dev/agentry/inputs/tree"
)

// TestEncryptedFilesOfKSOPS: its generators list files with Secrets, which are built like other files.
func TestEncryptedFilesOfKSOPS(t *testing.T) {
	t.Parallel()
	const generator = "apiVersion: viaduct.ai/v1\nkind: ksops\nmetadata: {name: x}\n"
	for text, want := range map[string]string{
		generator + "files: [./login.yaml]\n":                                    "namespace: shop",
		generator + "files: [none.yaml]\n":                                       `top/kustomization.yaml:4:3: generators[0]: "none.yaml" is not in`,
		generator + "files: [login.yaml]\nsecretFrom: [{metadata: {name: y}}]\n": "top/keys.yaml:1:1: is not a list",
		generator + "files: [login.yaml]\n---\nkind: other\n":                    "top/keys.yaml:6:1: is not a list",
	} {
		built, err := ours(files(map[string]string{"top/keys.yaml": text,
			"top/kustomization.yaml": "namespace: shop\nresources: [a.yaml]\ngenerators:\n- ./keys.yaml\n",
			"top/a.yaml":             "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n",
			"top/login.yaml": "apiVersion: v1\nkind: Secret\nmetadata: {name: login}\n" +
				"stringData: {password: 'ENC[AES256_GCM,data:x]'}\nsops: {version: 3.9.0}\n"}), "top")
		got := built
		if failed, ok := errors.AsType[*diag.Diagnostic](err); ok {
			got = fmt.Sprintf("%s:%d:%d: %s", failed.File, failed.Line, failed.Column, failed.Message)
		} else if err != nil || strings.Count(built, "kind: ") != 2 || !strings.Contains(built, "name: login") {
			t.Errorf("%v\n%s", err, built)
		}
		if !strings.Contains(got, want) {
			t.Errorf("%s: got %s", text, got)
		}
	}
}

// TestFoldersOfKSOPS: a generator may be in a folder with a kustomization of its own, which is no root. KSOPS reads the
// files that it lists from the folder of the kustomization that has generators.
func TestFoldersOfKSOPS(t *testing.T) {
	t.Parallel()
	const generator = "apiVersion: viaduct.ai/v1\nkind: ksops\nmetadata: {name: x}\nfiles: [%s]\n"
	const secret = "apiVersion: v1\nkind: Secret\nmetadata: {name: %s}\nstringData: {a: b}\n"
	repository := files(map[string]string{
		"top/kustomization.yaml":                 "resources: [a.yaml]\ngenerators: [./generators]\n",
		"top/a.yaml":                             "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n",
		"top/generators/kustomization.yaml":      "resources: [keys.yaml, more, config.yaml]\n",
		"top/generators/keys.yaml":               fmt.Sprintf(generator, "./login.yaml"),
		"top/generators/more/kustomization.yaml": "resources: [keys.yaml, ../../generators]\n",
		"top/generators/more/keys.yaml":          fmt.Sprintf(generator, "secrets/other.yaml"),
		"top/generators/config.yaml": "apiVersion: builtin\nkind: ConfigMapGenerator\nmetadata: {name: made}\n" +
			"literals: [c=d]\n",
		"top/login.yaml":         fmt.Sprintf(secret, "login"),
		"top/secrets/other.yaml": fmt.Sprintf(secret, "other"),
	})
	built, err := ours(repository, "top")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"name: a\n", "name: login\n", "name: other\n", "name: made-"} {
		if !strings.Contains(built, want) {
			t.Errorf("%s is not in\n%s", want, built)
		}
	}
	refs, err := kustomize.Inspect(tree.New(t.Context(), repository), "top", manifest.Tenants{}, nil)
	if err != nil || !refs.Folders["top/generators"] || !refs.Folders["top/generators/more"] ||
		!refs.Files["top/generators/more/keys.yaml"] || !refs.Files["top/secrets/other.yaml"] {
		t.Errorf("%v: %v", err, refs)
	}
}

// TestPluginsAreRefused: what agentry does not run is refused at its line, with what to do instead.
func TestPluginsAreRefused(t *testing.T) {
	t.Parallel()
	const ksops = "apiVersion: viaduct.ai/v1\nkind: ksops\nmetadata: {name: x}\nfiles: [login.yaml]\n"
	const other = "apiVersion: goabout.com/v1beta1\nkind: SopsSecretGenerator\nmetadata: {name: x}\n"
	const remote = "apiVersion: builtin\nmetadata: {name: x}\nkind: "
	for name, c := range map[string]struct{ kustomization, plugin, want, hint string }{
		"an unknown generator": {"generators: [plugin.yaml]", other,
			"top/plugin.yaml:1:13: error[build-refused]: agentry does not run plugins: SopsSecretGenerator of " +
				"goabout.com/v1beta1", "list the encrypted files in a generator of KSOPS"},
		"KSOPS as a transformer": {"transformers: [plugin.yaml]", ksops,
			"top/plugin.yaml:1:13: error[build-refused]: agentry does not run plugins: ksops of viaduct.ai/v1",
			"if the kustomization lists this file under generators"},
		"another generator in a folder": {"generators: [../more]", other,
			"more/plugin.yaml:1:13: error[build-refused]: agentry does not run plugins: SopsSecretGenerator of " +
				"goabout.com/v1beta1", "list the encrypted files in a generator of KSOPS"},
		"another generator beside KSOPS in a folder": {"generators:\n- ../both", other,
			"top/plugin.yaml:1:13: error[build-refused]: agentry does not run plugins: SopsSecretGenerator of " +
				"goabout.com/v1beta1", "list the encrypted files in a generator of KSOPS"},
		"a missing generator behind KSOPS": {"generators:\n- plugin.yaml\n- none.yaml", ksops,
			`top/kustomization.yaml:3:3: error[build-failed]: generators[1]: "none.yaml" is not in the repository, or ` +
				"is hidden by a .sourceignore", "correct the path"},
		"KSOPS in a folder with other fields": {"generators: [../fields]", ksops,
			"fields/kustomization.yaml: error[build-failed]: a folder of transformers may only list them as resources",
			"list them"},
		"a generator of a remote file": {"generators: [plugin.yaml]",
			remote + "ConfigMapGenerator\nname: y\nfiles: ['https://example.com/y']\n",
			"top/plugin.yaml:5:9: error[build-refused]: ConfigMapGenerator reads a remote file, but agentry builds " +
				"only from the repository", "copy it"},
		"a transformer that reads a remote file": {"transformers: [plugin.yaml]",
			remote + "PatchTransformer\npath: https://example.com/y\n",
			"top/plugin.yaml:4:7: error[build-refused]: PatchTransformer reads a remote file, but agentry builds " +
				"only from the repository", "copy it"},
	} {
		_, err := ours(files(map[string]string{"top/kustomization.yaml": c.kustomization, "top/plugin.yaml": c.plugin,
			"more/kustomization.yaml": "resources: [plugin.yaml]", "more/plugin.yaml": c.plugin,
			"both/kustomization.yaml":   "resources: [ksops.yaml, ../top/plugin.yaml]",
			"both/ksops.yaml":           ksops,
			"fields/kustomization.yaml": "namePrefix: x\nresources: [../more/plugin.yaml]",
			"top/login.yaml":            "apiVersion: v1\nkind: Secret\nmetadata: {name: login}\n"}), "top")
		failed, ok := errors.AsType[*diag.Diagnostic](err)
		if !ok || failed.String() != c.want || !strings.Contains(failed.Hint, c.hint) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

// TestInlineGenerators: KSOPS decrypts what a generator in the kustomization itself lists; other plugins are refused at
// their entry.
func TestInlineGenerators(t *testing.T) {
	t.Parallel()
	for kind, want := range map[string]string{
		"viaduct.ai/v1\n  kind: ksops":    "",
		"example.com/v1\n  kind: another": "top/kustomization.yaml:4: error[build-refused]: generators[0]: agentry does not run plugins: another of example.com/v1",
	} {
		built, err := ours(files(map[string]string{
			"top/kustomization.yaml": "resources: [a.yaml]\ngenerators:\n- |\n  apiVersion: " + kind +
				"\n  metadata: {name: x}\n  files: [./login.yaml]\n",
			"top/a.yaml":     "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n",
			"top/login.yaml": "apiVersion: v1\nkind: Secret\nmetadata: {name: login}\n"}), "top")
		got := ""
		if failed, ok := errors.AsType[*diag.Diagnostic](err); ok {
			got = failed.String()
		}
		if got != want || want == "" && !strings.Contains(built, "name: login") {
			t.Errorf("%s: got %s (%v)\n%s", kind, got, err, built)
		}
	}
}
