package kustomize_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/agentry-dev/agentry/generator/diag"
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
		"KSOPS in a folder": {"generators: [../more]", ksops,
			"more/plugin.yaml:1:13: error[build-refused]: agentry does not run plugins: ksops of viaduct.ai/v1",
			"if the kustomization lists this file under generators"},
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
			"more/kustomization.yaml": "resources: [plugin.yaml]", "more/plugin.yaml": c.plugin}), "top")
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
