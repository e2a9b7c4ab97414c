package kubelist

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	"github.com/agentry-dev/agentry/internal/lazyregexp"
)

// Mistake is what is wrong with an export, and what to do. Nothing is quoted: it could be of a Secret.
type Mistake struct{ Message, Hint string }

// Error implements error.
func (m *Mistake) Error() string { return m.Message }

const (
	writeIt = "write it with kubectl get -o yaml"
	again   = "write it again, and see what kubectl says"
)

// Read parses what kubectl prints, and calls add for each object: documents of YAML or JSON, each an object or a List.
// An export that is not such, or has no object, is a [Mistake].
func Read(export []byte, add func(*unstructured.Unstructured) error) error {
	isEmpty := true
	err := read(export, func(o *unstructured.Unstructured) error {
		isEmpty = false
		return add(o)
	})
	if err == nil && isEmpty {
		return &Mistake{"it holds no object",
			"kubectl found nothing: check its context, and that the command has -A for all namespaces"}
	}
	return err
}

func read(export []byte, add func(*unstructured.Unstructured) error) error {
	if isUTF16(export) {
		return &Mistake{"it is UTF-16 text, as > of PowerShell writes it",
			"write it as UTF-8: kubectl get -o yaml ... | Out-File -Encoding utf8 FILE"}
	}
	documents := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(export)))
	for n := 1; ; n++ {
		text, err := documents.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return &Mistake{fmt.Sprintf("document %d cannot be read", n), writeIt}
		}
		place := fmt.Sprintf("document %d", n)
		object, err := decode(place, bytes.TrimSpace(text))
		if err == nil && object != nil {
			err = each(place, object, add)
		}
		if err != nil {
			return err
		}
	}
}

// isUTF16 reports whether a text is UTF-16: it has a byte order mark, or bytes that no other text has.
func isUTF16(text []byte) bool {
	return bytes.HasPrefix(text, []byte("\xff\xfe")) || bytes.HasPrefix(text, []byte("\xfe\xff")) ||
		bytes.IndexByte(text[:min(len(text), 2)], 0) >= 0
}

// decode returns the object of a document, or nil if it is empty.
func decode(place string, text []byte) (object map[string]any, err error) {
	if bytes.HasPrefix(text, []byte("{")) && utiljson.Unmarshal(text, &object) == nil {
		return object, nil
	}
	var value any
	if err := yaml.Unmarshal(text, &value); err != nil {
		return nil, broken(place, text, err)
	}
	switch value := value.(type) {
	case nil:
		return nil, nil
	case map[string]any:
		return value, nil
	}
	return nil, &Mistake{place + " is " + formOf(value) + ", and no object", writeIt}
}

var lineOf = lazyregexp.New(`line (\d+)`)

// broken says where a document is neither YAML nor JSON.
func broken(place string, text []byte, err error) error {
	var syntax *json.SyntaxError
	if asJSON := json.Unmarshal(text, &json.RawMessage{}); errors.As(asJSON, &syntax) &&
		syntax.Error() == "unexpected end of JSON input" {
		return &Mistake{place + " ends in the middle of an object: it was cut off", again}
	}
	lines := bytes.Count(text, []byte("\n")) + 1
	if found := lineOf.FindStringSubmatch(err.Error()); found != nil {
		line, _ := strconv.Atoi(found[1])
		if line >= lines && lines > 1 {
			return &Mistake{place + " ends in the middle of an object: it was cut off", again}
		}
		place += ", line " + found[1]
	}
	return &Mistake{place + " is neither YAML nor JSON", writeIt}
}

// each calls add for an object, or for those of a list.
func each(place string, object map[string]any, add func(*unstructured.Unstructured) error) error {
	o := &unstructured.Unstructured{Object: object}
	of, isList := strings.CutSuffix(o.GetKind(), "List")
	list, hasItems := object["items"].([]any)
	switch {
	case o.GetKind() == "" && hasItems:
		return &Mistake{place + " is a list without a kind, which comes after the items: it was cut off", again}
	case o.GetKind() == "":
		return &Mistake{place + " has no kind", writeIt}
	case !isList && o.GetName() == "":
		return &Mistake{place + " has no name", writeIt}
	case !isList:
		if err := add(o); err != nil {
			return fmt.Errorf("%s: %w", place, err)
		}
		return nil
	case !hasItems && object["items"] != nil:
		return &Mistake{place + ": items is " + formOf(object["items"]) + ", and no list", writeIt}
	}
	for i, item := range list {
		at := fmt.Sprintf("%s: items[%d]", place, i)
		child, isObject := item.(map[string]any)
		if !isObject {
			return &Mistake{at + " is " + formOf(item) + ", and no object", writeIt}
		}
		if child["kind"] == nil && of != "" { // the API server's list of one kind
			child["kind"], child["apiVersion"] = of, o.GetAPIVersion()
		}
		if err := each(at, child, add); err != nil {
			return err
		}
	}
	return nil
}

// formOf names the form of a value.
func formOf(value any) string {
	switch value.(type) {
	case nil:
		return "null"
	case []any:
		return "a list"
	case map[string]any:
		return "an object"
	case string:
		return "a text"
	}
	return "a number or a boolean"
}
