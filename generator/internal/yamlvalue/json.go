package yamlvalue

import kjson "sigs.k8s.io/json"

// decodeJSON decodes a document that begins with a brace. It returns nil and no error if the document is not JSON; it
// may still be YAML in flow style.
func decodeJSON(text string) (any, error) {
	var value any
	strict, err := kjson.UnmarshalStrict([]byte(text), &value)
	if err != nil {
		return nil, nil
	}
	if len(strict) > 0 {
		// Without a struct to decode into, a strict error can only be a duplicate key.
		if err := duplicateKey(text); err != nil {
			return nil, err
		}
		return nil, &Error{Reason: DuplicateKey, Message: "a key occurs twice in an object"}
	}
	values := 0
	if err := checkLimits(value, 0, &values); err != nil {
		return nil, err
	}
	return value, nil
}

// checkLimits checks a decoded value against [MaxDepth] and [MaxValues].
func checkLimits(value any, depth int, values *int) error {
	if *values++; *values > MaxValues {
		return errTooManyValues()
	}
	if depth > MaxDepth {
		return errTooDeep()
	}
	switch value := value.(type) {
	case map[string]any:
		for _, v := range value {
			if err := checkLimits(v, depth+1, values); err != nil {
				return err
			}
		}
	case []any:
		for _, v := range value {
			if err := checkLimits(v, depth+1, values); err != nil {
				return err
			}
		}
	}
	return nil
}
