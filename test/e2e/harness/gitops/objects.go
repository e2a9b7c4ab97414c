package gitops

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"reflect"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/agentry-dev/agentry/test/e2e/harness"
)

// Objects are objects by Kind/namespace/name.
type Objects map[string]*unstructured.Unstructured

// ByName makes a set of a list.
func ByName(list []*unstructured.Unstructured) Objects {
	out := Objects{}
	for _, o := range list {
		out[o.GetKind()+"/"+o.GetNamespace()+"/"+o.GetName()] = o
	}
	return out
}

// Names are sorted.
func (o Objects) Names() []string { return slices.Sorted(maps.Keys(o)) }

// Manifests are those of a branch.
func (f *Forge) Manifests(t *testing.T, branch string) Objects {
	t.Helper()
	var all []*unstructured.Unstructured
	for _, file := range f.Files(t, branch) {
		if path.Ext(file) == ".yaml" && path.Base(file) != "kustomization.yaml" {
			all = append(all, harness.Decode(t, []byte(f.Git(t, "show", branch+":"+file)))...)
		}
	}
	return ByName(all)
}

// Files are those of a branch.
func (f *Forge) Files(t *testing.T, branch string) []string {
	t.Helper()
	return strings.Fields(f.Git(t, "ls-tree", "-r", "--name-only", branch))
}

// Changed are the names of objects that were made, changed or deleted between two looks. That
// controllers go on to write their status is no change; that somebody applies what is there
// already, and so is noted as who did it last, is one.
func Changed(before, after Objects) []string {
	var out []string
	for name := range before {
		if after[name] == nil {
			out = append(out, "-"+name)
		}
	}
	for name, o := range after {
		if before[name] == nil {
			out = append(out, "+"+name)
		} else if !reflect.DeepEqual(withoutStatus(before[name]), withoutStatus(o)) {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

func withoutStatus(o *unstructured.Unstructured) *unstructured.Unstructured {
	o = o.DeepCopy()
	unstructured.RemoveNestedField(o.Object, "status")
	o.SetResourceVersion("")
	o.SetManagedFields(slices.DeleteFunc(o.GetManagedFields(), func(m metav1.ManagedFieldsEntry) bool {
		return m.Subresource == "status"
	}))
	return o
}

// AsStored is an object with its values where the API server puts them: a Secret's text into data,
// and the version of references to a pod's fields, which server-side apply takes for part of the
// reference.
func AsStored(t *testing.T, o *unstructured.Unstructured) *unstructured.Unstructured {
	t.Helper()
	text, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	text = bytes.ReplaceAll(text, []byte(`"fieldRef":{`), []byte(`"fieldRef":{"apiVersion":"v1",`))
	o = &unstructured.Unstructured{}
	if err := o.UnmarshalJSON(text); err != nil {
		t.Fatal(err)
	}
	texts, _, _ := unstructured.NestedStringMap(o.Object, "stringData")
	unstructured.RemoveNestedField(o.Object, "stringData")
	for key, text := range texts {
		if err := unstructured.SetNestedField(o.Object, base64.StdEncoding.EncodeToString([]byte(text)), "data",
			key); err != nil {
			t.Fatal(err)
		}
	}
	return o
}

// Missing tells where one value lacks something of another, by path. The API server may add
// defaults to objects; lists it keeps as they are.
func Missing(want, got any, at string) []string {
	switch want := want.(type) {
	case map[string]any:
		got, ok := got.(map[string]any)
		if !ok {
			return []string{at}
		}
		var out []string
		for key, value := range want {
			out = append(out, Missing(value, got[key], at+"."+key)...)
		}
		return out
	case []any:
		got, ok := got.([]any)
		if !ok || len(got) != len(want) {
			return []string{at}
		}
		var out []string
		for i, value := range want {
			out = append(out, Missing(value, got[i], fmt.Sprintf("%s[%d]", at, i))...)
		}
		return out
	}
	if !reflect.DeepEqual(want, got) {
		return []string{fmt.Sprintf("%s: %.100q, not %.100q", at, fmt.Sprint(got), fmt.Sprint(want))}
	}
	return nil
}
