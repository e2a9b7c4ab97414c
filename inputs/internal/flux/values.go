package flux

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"helm.sh/helm/v4/pkg/strvals"
	"sigs.k8s.io/yaml"

	"github.com/agentry-dev/agentry/inputs/helm"
	"github.com/agentry-dev/agentry/inputs/roots"
)

// values merges the values of a release: first its references in order, then spec.values.
func (r *HelmRelease) values(objects Objects) (map[string]any, error) {
	values := map[string]any{}
	for i, ref := range r.Spec.ValuesFrom {
		field := fmt.Sprintf("spec.valuesFrom[%d]", i)
		text, found, err := ref.read(field, r.Metadata.Namespace, objects)
		switch {
		case err != nil:
			return nil, err
		case !found:
			continue
		case ref.TargetPath != "":
			err = ref.set(values, text)
		default:
			var more map[string]any
			if err = yaml.Unmarshal([]byte(text), &more); err == nil {
				values = helm.Merge(values, more)
			}
		}
		if err != nil { // it could quote a value
			return nil, problem(field, "", "%s %s does not hold Helm values", ref.Kind, ref.Name)
		}
	}
	if len(r.Spec.Values) > 0 {
		var own map[string]any
		if err := json.Unmarshal(r.Spec.Values, &own); err != nil {
			return nil, problem("spec.values", "", "must be a map")
		}
		values = helm.Merge(values, own)
	}
	if r.replace != nil {
		values, _ = replaced(values, r.replace).(map[string]any)
	}
	return values, nil
}

// defaultKey is the key of values that name none.
const defaultKey = "values.yaml"

// read reads the values that a reference names. found is false if they are optional and absent, or unknown, which is a
// warning of the root.
func (ref ValuesReference) read(field, namespace string, objects Objects) (text string, found bool, err error) {
	key := cmp.Or(ref.ValuesKey, defaultKey)
	if ref.Kind != "ConfigMap" && ref.Kind != "Secret" {
		return "", false, problem(field+".kind", "use ConfigMap or Secret", "%q cannot hold values", ref.Kind)
	}
	object := objects(ref.Kind, namespace, ref.Name)
	if isEncrypted(object) || ref.isMissing(object) || slices.Contains(roots.StubKeys(object), key) {
		return "", false, nil
	}
	if text, found = dataOf(object, key); found || ref.Optional {
		return text, found, nil
	}
	if object == nil {
		return "", false, problem(field, addMissing, "%s %s/%s is not in the inputs", ref.Kind, namespace, ref.Name)
	}
	return "", false, problem(field, "add it, or set optional: true", "%s %s/%s has no key %s", ref.Kind, namespace,
		ref.Name, key)
}

// isMissing reports whether the reference needs a Secret that is not in Git, such as one that an External Secrets
// operator makes.
func (ref ValuesReference) isMissing(object map[string]any) bool {
	return object == nil && ref.Kind == "Secret" && !ref.Optional
}

// id returns the key of the referenced object in [Release.Objects].
func (ref ValuesReference) id(namespace string) string {
	return ref.Kind + "/" + namespace + "/" + ref.Name
}

// dataOf reads a key of a ConfigMap or Secret.
func dataOf(object map[string]any, key string) (string, bool) {
	for _, field := range []string{"stringData", "data", "binaryData"} {
		data, _ := object[field].(map[string]any)
		text, ok := data[key].(string)
		switch {
		case !ok:
			continue
		case field == "stringData" || field == "data" && object["kind"] == "ConfigMap":
			return text, true
		}
		plain, err := base64.StdEncoding.DecodeString(strings.TrimSpace(text))
		return string(plain), err == nil
	}
	return "", false
}

// set puts a single value at the reference's path, as helm --set does. A quoted value stays a string.
func (ref ValuesReference) set(values map[string]any, value string) error {
	if ref.Literal {
		return strvals.ParseLiteralInto(ref.TargetPath+"="+value, values)
	}
	for _, quote := range []string{"'", `"`} {
		if len(value) > 1 && strings.HasPrefix(value, quote) && strings.HasSuffix(value, quote) {
			return strvals.ParseIntoString(ref.TargetPath+"="+strings.Trim(value, `'"`), values)
		}
	}
	return strvals.ParseInto(ref.TargetPath+"="+value, values)
}
