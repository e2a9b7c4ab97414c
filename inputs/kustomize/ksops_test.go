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

// TestInlineGenerators: KSOPS decrypts what a generator in the kustomization itself lists; other plugins are refused at
// their entry.
func TestInlineGenerators(t *testing.T) {
	t.Parallel()
	for kind, want := range map[string]string{
		"viaduct.ai/v1\n  kind: ksops":    "",
		"example.com/v1\n  kind: another": "top/kustomization.yaml:4: error[build-refused]: generators[0]: agentry does not run plugins",
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
