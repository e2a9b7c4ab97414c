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

	goyaml "go.yaml.in/yaml/v3"
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
	export = bytes.TrimPrefix(export, []byte("\xef\xbb\xbf")) // the byte order mark of UTF-8
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
		objects, err := decode(place, bytes.TrimSpace(text))
		for _, object := range objects {
			if err == nil {
				err = each(place, object, add)
			}
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

// decode returns the objects of a document: none if it is empty, and several if they are JSON, one after the other.
func decode(place string, text []byte) ([]map[string]any, error) {
	isFlow := bytes.HasPrefix(text, []byte("{"))
	if isFlow {
		if objects, isJSON, err := decodeJSON(place, text); isJSON {
			return objects, err
		}
	}
	asJSON, err := yaml.YAMLToJSONStrict(text)
	var value any
	if err == nil {
		err = utiljson.Unmarshal(asJSON, &value) // keeps large integers
	}
	if err != nil {
		return nil, broken(place, text, err)
	}
	if isFlow && !isOne(text) {
		return nil, &Mistake{place + " has something after its object", writeIt}
	}
	switch value := value.(type) {
	case nil:
		return nil, nil
	case map[string]any:
		return []map[string]any{value}, nil
	}
	return nil, &Mistake{place + " is " + formOf(value) + ", and no object", writeIt}
}

// decodeJSON returns the objects of a text in JSON. What begins with something else is not JSON.
func decodeJSON(place string, text []byte) (objects []map[string]any, isJSON bool, err error) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	for {
		var one json.RawMessage
		var object map[string]any
		err := decoder.Decode(&one)
		switch {
		case errors.Is(err, io.EOF):
			return objects, true, nil
		case len(objects) == 0 && err != nil:
			return nil, false, nil
		case errors.Is(err, io.ErrUnexpectedEOF):
			return nil, true, &Mistake{place + " ends in the middle of an object: it was cut off", again}
		case err != nil || utiljson.Unmarshal(one, &object) != nil:
			return nil, true, &Mistake{fmt.Sprintf("%s: what follows object %d is no object", place, len(objects)),
				writeIt}
		}
		objects = append(objects, object)
	}
}

// isOne reports whether a text in YAML is one document: the parser stops after the first.
func isOne(text []byte) bool {
	decoder := goyaml.NewDecoder(bytes.NewReader(text))
	var node goyaml.Node
	return decoder.Decode(&node) == nil && errors.Is(decoder.Decode(&node), io.EOF)
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
	isTwice := strings.Contains(err.Error(), "already set in map")
	if found := lineOf.FindStringSubmatch(err.Error()); found != nil {
		line, _ := strconv.Atoi(found[1])
		if line >= lines && lines > 1 && !isTwice {
			return &Mistake{place + " ends in the middle of an object: it was cut off", again}
		}
		place += ", line " + found[1]
	}
	if isTwice {
		return &Mistake{place + ": a field is there twice, as where the output of two commands was joined",
			"put a line --- between them, or export all kinds with one command"}
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
