package flux

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

// objects are objects by Kind/namespace/name.
type objects map[string]*unstructured.Unstructured

func byName(list []*unstructured.Unstructured) objects {
	out := objects{}
	for _, o := range list {
		out[o.GetKind()+"/"+o.GetNamespace()+"/"+o.GetName()] = o
	}
	return out
}

func (o objects) names() []string { return slices.Sorted(maps.Keys(o)) }

// onBranch are the manifests of the output branch.
func (w *world) onBranch() objects {
	w.t.Helper()
	var all []*unstructured.Unstructured
	for _, file := range strings.Fields(git(w.t, w.forge.dir(), "ls-tree", "-r", "--name-only", branch)) {
		if path.Ext(file) == ".yaml" && path.Base(file) != "kustomization.yaml" {
			all = append(all, harness.Decode(w.t, []byte(git(w.t, w.forge.dir(), "show", branch+":"+file)))...)
		}
	}
	return byName(all)
}

// kustomization is Flux's view of the output branch.
func (w *world) kustomization() (*unstructured.Unstructured, error) {
	return w.live(&unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "kustomize.toolkit.fluxcd.io/v1", "kind": "Kustomization", "metadata": map[string]any{"name": rendered, "namespace": fluxSystem},
	}})
}

// live is an object as the API server has it.
func (w *world) live(o *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	resource, err := w.Resource(o)
	if err != nil {
		return nil, err
	}
	return resource.Get(w.t.Context(), o.GetName(), metav1.GetOptions{})
}

// inCluster are the objects of the branch as the API server has them. Flux applies them, and no
// others.
func (w *world) inCluster() objects {
	w.t.Helper()
	k, err := w.kustomization()
	if err != nil {
		w.t.Fatal(err)
	}
	entries, _, _ := unstructured.NestedSlice(k.Object, "status", "inventory", "entries")
	out := objects{}
	for name, o := range w.onBranch() {
		if out[name], err = w.live(o); err != nil {
			w.t.Fatal(err)
		}
	}
	if len(entries) != len(out) {
		w.t.Fatalf("Flux has applied %d objects, not %q: %v", len(entries), out.names(), entries)
	}
	return out
}

// applied waits until Flux has applied a commit of the output branch.
func (w *world) applied(commit string) {
	w.t.Helper()
	harness.Eventually(w.t, "Flux applies "+commit, func() error {
		k, err := w.kustomization()
		if err != nil {
			return err
		}
		revision, _, _ := unstructured.NestedString(k.Object, "status", "lastAppliedRevision")
		if !isReady(k) || revision != branch+"@sha1:"+commit {
			return fmt.Errorf("it has applied %q, and is %s", revision, conditions(k))
		}
		return nil
	})
}

func isReady(o *unstructured.Unstructured) bool {
	return strings.HasPrefix(conditions(o), "Ready=True")
}

// conditions are those of an object of Flux, Ready first.
func conditions(o *unstructured.Unstructured) string {
	list, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
	var out []string
	for _, c := range list {
		if c, ok := c.(map[string]any); ok {
			text := fmt.Sprintf("%s=%s (%s: %s)", c["type"], c["status"], c["reason"], c["message"])
			if c["type"] == "Ready" {
				out = slices.Insert(out, 0, text)
			} else {
				out = append(out, text)
			}
		}
	}
	return strings.Join(out, ", ")
}

// changed are the names of objects that were made, changed or deleted between two looks. That
// controllers go on to write their status is no change; that Flux applies what is there already,
// and so is noted as who did it last, is one.
func changed(before, after objects) []string {
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
	o.SetManagedFields(slices.DeleteFunc(o.GetManagedFields(), func(m metav1.ManagedFieldsEntry) bool { return m.Subresource == "status" }))
	return o
}

// asStored is an object with its values where the API server puts them: a Secret's text into data,
// and the version of references to a pod's fields, which server-side apply takes for part of the
// reference.
func asStored(t *testing.T, o *unstructured.Unstructured) *unstructured.Unstructured {
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
		if err := unstructured.SetNestedField(o.Object, base64.StdEncoding.EncodeToString([]byte(text)), "data", key); err != nil {
			t.Fatal(err)
		}
	}
	return o
}

// missing tells where one value lacks something of another, by path. The API server may add
// defaults to objects; lists it keeps as they are.
func missing(want, got any, at string) []string {
	switch want := want.(type) {
	case map[string]any:
		got, ok := got.(map[string]any)
		if !ok {
			return []string{at}
		}
		var out []string
		for key, value := range want {
			out = append(out, missing(value, got[key], at+"."+key)...)
		}
		return out
	case []any:
		got, ok := got.([]any)
		if !ok || len(got) != len(want) {
			return []string{at}
		}
		var out []string
		for i, value := range want {
			out = append(out, missing(value, got[i], fmt.Sprintf("%s[%d]", at, i))...)
		}
		return out
	}
	if !reflect.DeepEqual(want, got) {
		return []string{fmt.Sprintf("%s: %.100q, not %.100q", at, fmt.Sprint(got), fmt.Sprint(want))}
	}
	return nil
}
