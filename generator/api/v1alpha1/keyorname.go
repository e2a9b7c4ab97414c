package v1alpha1

import (
	"encoding/json"
	"errors"
)

// KeyOrName is a whole Secret or ConfigMap, written as its name, or one key of it, written
// as an object {name, key, optional}. The first RFC has names, the second has keys.
//
// +kubebuilder:validation:XPreserveUnknownFields
// +kubebuilder:validation:Type=""
type KeyOrName struct {
	// Name of the Secret or ConfigMap.
	Name string `json:"name"`
	// Key of it. Empty: the whole Secret or ConfigMap.
	Key string `json:"key,omitempty"`
	// Whether it may be missing.
	Optional *bool `json:"optional,omitempty"`
}

var errKeyOrName = errors.New("must be a name, or an object with name and key")

// UnmarshalJSON accepts a string or an object.
func (k *KeyOrName) UnmarshalJSON(data []byte) error {
	*k = KeyOrName{}
	if len(data) > 0 && data[0] == '"' {
		if err := json.Unmarshal(data, &k.Name); err != nil || k.Name == "" {
			return errKeyOrName
		}
		return nil
	}
	type object KeyOrName // without this method
	if err := json.Unmarshal(data, (*object)(k)); err != nil || k.Name == "" || k.Key == "" {
		return errKeyOrName
	}
	return nil
}

// MarshalJSON writes the form that the value was read from.
func (k KeyOrName) MarshalJSON() ([]byte, error) {
	if k.Key == "" {
		return json.Marshal(k.Name)
	}
	type object KeyOrName // without this method
	return json.Marshal(object(k))
}
