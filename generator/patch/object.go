package patch

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"sigs.k8s.io/kustomize/api/provider"
	"sigs.k8s.io/kustomize/api/resmap"
	"sigs.k8s.io/kustomize/api/resource"
	"sigs.k8s.io/kustomize/kyaml/resid"
	"sigs.k8s.io/yaml"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/manifest"
)

// maxBriefBytes limits what is kept of an error of kustomize.
const maxBriefBytes = 300

func factory() *resource.Factory { return provider.NewDefaultDepProvider().GetResourceFactory() }

// idOf returns what kustomize calls a rendered object. The first line of its manifest is its apiVersion.
func idOf(id manifest.ID, text []byte) resid.ResId {
	line, _, _ := strings.Cut(string(text[:min(len(text), maxBriefBytes)]), "\n")
	group, version := resid.ParseGroupVersion(strings.TrimPrefix(line, "apiVersion: "))
	return resid.NewResIdWithNamespace(resid.NewGvk(group, version, id.Kind), id.Name, id.Namespace)
}

// cut separates the data of a Secret, its last field, from what patches see of it.
func cut(id manifest.ID, text []byte) (head, rest []byte) {
	if id.Kind != "Secret" {
		return text, nil
	}
	for _, field := range [...]string{"\nstringData:\n", "\ndata:\n"} {
		if at := bytes.Index(text, []byte(field)); at >= 0 { // line breaks in metadata are escaped
			return text[: at+1 : at+1], text[at+1:]
		}
	}
	return text, nil
}

// read returns an object as a list for kustomize.
func read(text []byte) (resmap.ResMap, error) {
	r, err := factory().FromBytes(text)
	if err != nil {
		return nil, err
	}
	list := resmap.New()
	return list, list.Append(r)
}

// isGone reports whether a patch removed the object of a list.
func isGone(list resmap.ResMap) bool { return list.Size() != 1 || list.Resources()[0].IsNilOrEmpty() }

// write returns the manifest of a changed object, as package workload writes manifests.
func write(id manifest.ID, list resmap.ResMap) ([]byte, error) {
	list.RemoveBuildAnnotations()
	if isGone(list) {
		return nil, errors.New("removes the object: what is rendered follows from the GrafanaAgent")
	}
	data, err := list.Resources()[0].MarshalJSON()
	if err != nil {
		return nil, errors.New("leaves an object that cannot be written")
	}
	var object map[string]any
	if err := json.Unmarshal(data, &object); err != nil {
		return nil, errors.New("leaves an object that cannot be read")
	}
	meta, _ := object["metadata"].(map[string]any)
	if namespace, _ := meta["namespace"].(string); object["kind"] != id.Kind || meta["name"] != id.Name || namespace != id.Namespace {
		return nil, fmt.Errorf("renames the object to %v %v/%v: its name, namespace and kind must stay, because others refer to them", object["kind"], meta["namespace"], meta["name"])
	}
	for field := range object {
		if id.Kind == "Secret" && field != "apiVersion" && field != "kind" && field != "metadata" {
			return nil, fmt.Errorf("sets %s of a Secret: only its metadata can be patched", field)
		}
	}
	return yaml.Marshal(object)
}

// brief returns the first line of an error of kustomize, which can quote a whole patch.
func brief(err error) string {
	text, _, _ := strings.Cut(diag.Plain(err.Error()), "\n")
	if len(text) > maxBriefBytes {
		text = strings.ToValidUTF8(text[:maxBriefBytes], "") + "..."
	}
	return text
}
