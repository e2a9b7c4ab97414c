package yamlvalue

import (
	"errors"
	"io"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v2"
)

// decodeYAML decodes a document with go.yaml.in/yaml/v2.
func decodeYAML(text string) (any, []Note, error) {
	generic, err := parse(text)
	if err != nil {
		return nil, nil, err
	}
	c := converter{text: text}
	value, err := c.convert(generic, 0)
	if err != nil || !c.boolean {
		return value, nil, err
	}
	return value, booleanKeys(text), nil
}

// parse parses a document with go.yaml.in/yaml/v2.
func parse(text string) (any, error) {
	// Strict decoding reports keys that occur twice. It also reports an overridden merged key, which is valid.
	var generic any
	decoder := yaml.NewDecoder(strings.NewReader(text))
	decoder.SetStrict(true)
	err := decoder.Decode(&generic)
	if types := (*yaml.TypeError)(nil); errors.As(err, &types) {
		if err := duplicateKey(text); err != nil {
			return nil, err
		}
		generic = nil
		decoder = yaml.NewDecoder(strings.NewReader(text))
		err = decoder.Decode(&generic)
	}
	switch {
	case err == io.EOF:
		return nil, nil
	case err != nil:
		return nil, syntaxError(err, text)
	}
	var more any
	if err := decoder.Decode(&more); err != io.EOF {
		if err != nil {
			return nil, syntaxError(err, text)
		}
		return nil, &Error{
			Message: "more than one document",
			Hint:    separateDocuments,
		}
	}
	return generic, nil
}

const separateDocuments = "put a line with nothing but --- between documents"

// converter converts values of go.yaml.in/yaml/v2 to Kubernetes' values.
type converter struct {
	text   string
	values int
	// boolean means that a key is a boolean.
	boolean bool
}

func (c *converter) convert(value any, depth int) (any, error) {
	if c.values++; c.values > MaxValues {
		return nil, errTooManyValues()
	}
	if depth > MaxDepth {
		return nil, errTooDeep()
	}
	switch value := value.(type) {
	case map[any]any:
		return c.convertMap(value, depth)
	case []any:
		for i, item := range value {
			converted, err := c.convert(item, depth+1)
			if err != nil {
				return nil, err
			}
			value[i] = converted
		}
		return value, nil
	case string:
		return validUTF8(value), nil
	case int:
		return int64(value), nil
	case uint64:
		return float64(value), nil
	case float64:
		number, ok := float(value)
		if !ok {
			return nil, errNotFinite()
		}
		return number, nil
	}
	return value, nil // bool, int64 and nil
}

func (c *converter) convertMap(from map[any]any, depth int) (any, error) {
	to := make(map[string]any, len(from))
	for key, value := range from {
		if _, isBool := key.(bool); isBool {
			c.boolean = true
		}
		name, ok := keyName(key)
		if !ok {
			return nil, errKey(c.text)
		}
		converted, err := c.convert(value, depth+1)
		if err != nil {
			return nil, err
		}
		to[validUTF8(name)] = converted
	}
	if len(to) < len(from) { // two keys became one, such as 1 and "1"
		if err := duplicateKey(c.text); err != nil {
			return nil, err
		}
		return nil, &Error{Reason: DuplicateKey, Message: "two keys of a mapping are the same when written as strings"}
	}
	return to, nil
}

// keyName returns a key as sigs.k8s.io/yaml writes it.
func keyName(key any) (string, bool) {
	switch key := key.(type) {
	case string:
		return key, true
	case bool:
		return strconv.FormatBool(key), true
	case int:
		return strconv.Itoa(key), true
	case int64:
		return strconv.FormatInt(key, 10), true
	case float64:
		switch {
		case math.IsInf(key, 1):
			return ".inf", true
		case math.IsInf(key, -1):
			return "-.inf", true
		case math.IsNaN(key):
			return ".nan", true
		}
		return strconv.FormatFloat(key, 'g', -1, 32), true
	}
	return "", false
}

// validUTF8 replaces invalid bytes like JSON encoding. Only !!binary values contain them.
func validUTF8(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		b.WriteRune(r)
	}
	return b.String()
}
