package sops

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/agentry-dev/agentry/test/e2e/harness"
	"github.com/agentry-dev/agentry/test/e2e/harness/gitops"
)

// ofCase is the pipeline of a case.
const ofCase = `---
apiVersion: agentry.dev/v1alpha1
kind: Pipeline
metadata: {name: CASE}
spec:
  compatibility: operator
  sources: [{url: "file://FOLDER/repo.git", ref: {branch: main}, paths: [CASE]}]
  output: {branch: out/CASE}
  decryption: {keyFile: age.agekey}
  secrets:
    policy: sops
    sops: {age: [RECIPIENT], hmacKeyFile: hmac.key}
`

// TestAnEncryptedInstallationIsAdopted: of each case that has Secrets, the program sops encrypts these. What Flux would
// decrypt is then what agentry renders of the case in clear. The suite adoption holds that to replace no pod of the
// operator's.
func TestAnEncryptedInstallationIsAdopted(t *testing.T) {
	u := newUser(t)
	u.write(".sops.yaml", strings.ReplaceAll(u.run(".", "cat .sops.yaml"), `\.secret\.yaml$`, `secret\.yaml$`))
	cases := u.encryptedCases()
	if len(cases) < 20 {
		t.Fatalf("only %d cases have Secrets", len(cases))
	}
	u.run("work", "git add -A && git commit -qm Cases && git push -q origin main")
	if log := u.run("work", "git show -p"); !strings.Contains(log, "ENC[AES256_GCM") {
		t.Fatal("nothing is encrypted")
	}
	u.run(".", "agentry sync -f fleet.yaml --cache-dir cache || test $? = 1") // some cases have errors
	secrets := 0
	for _, name := range cases {
		u.run(".", "git clone -q -b out/"+name+" repo.git out-"+name)
		u.run("out-"+name, "grep -rl '^# agentry-seal' . | xargs -rn 1 sops decrypt -i")
		u.run(".", "agentry render --compatibility operator --secrets plaintext -o clear-"+name+" clear/"+name+
			" || test $? = 1")
		got, want := u.objects("out-"+name), u.objects("clear-"+name)
		for _, id := range gitops.Changed(want, got) {
			t.Errorf("%s: %s is not as in clear: %v", name, id, got[id])
		}
		for _, o := range got {
			if o.GetKind() == "Secret" {
				secrets++
			}
		}
	}
	if secrets < len(cases) {
		t.Errorf("of %d cases only %d Secrets are rendered", len(cases), secrets)
	}
}

// encryptedCases writes each case that has Secrets twice, in clear and with its Secrets encrypted, and a file with
// their pipelines.
func (u *user) encryptedCases() (names []string) {
	u.t.Helper()
	files, err := filepath.Glob(filepath.Join(harness.Root(), "test", "conformance", "operator", "*", "input.yaml"))
	if err != nil {
		u.t.Fatal(err)
	}
	rule := u.run(".", "cat .sops.yaml")
	_, recipient, _ := strings.Cut(rule, "age: ")
	fleet := strings.NewReplacer("FOLDER", u.folder, "RECIPIENT", strings.TrimSpace(recipient)).Replace(ofCase)
	var pipelines strings.Builder
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			u.t.Fatal(err)
		}
		var secrets, others []string
		for doc := range strings.SplitSeq("\n"+string(text), "\n---") {
			if strings.Contains(doc, "\nkind: Secret\n") {
				secrets = append(secrets, doc)
			} else {
				others = append(others, doc)
			}
		}
		if len(secrets) == 0 {
			continue
		}
		name := filepath.Base(filepath.Dir(file))
		names = append(names, name)
		u.run(".", "mkdir -p clear/"+name+" work/"+name)
		for _, top := range []string{"clear/", "work/"} {
			u.write(top+name+"/secret.yaml", strings.Join(secrets, "\n---"))
			u.write(top+name+"/others.yaml", strings.Join(others, "\n---"))
		}
		u.run("work/"+name, "sops encrypt -i --encrypted-regex '^(data|stringData)$' secret.yaml")
		pipelines.WriteString(strings.ReplaceAll(fleet, "CASE", name))
	}
	u.write("fleet.yaml", pipelines.String())
	return names
}

// objects are those of a rendered folder.
func (u *user) objects(folder string) gitops.Objects {
	u.t.Helper()
	var out []*unstructured.Unstructured
	for file := range strings.FieldsSeq(u.run(folder,
		"find . -name '*.yaml' ! -name kustomization.yaml ! -path './.git/*'")) {
		text, err := os.ReadFile(filepath.Join(u.folder, folder, file))
		if err != nil {
			u.t.Fatal(err)
		}
		out = append(out, harness.Decode(u.t, text)...)
	}
	return gitops.ByName(out)
}
