// Package frame is the protocol between agentry and the processes that render charts. Values are encoded as CBOR
// because, unlike JSON, it distinguishes 1 from 1.0, as templates do.
package frame

import (
	"reflect"

	"github.com/fxamacker/cbor/v2"
)

// Kinds of frames.
const (
	Release  = 'r' // to the worker: render a release
	Texts    = 'x' // to the worker: execute texts
	Template = 't' // from the worker: a template begins
)

// Strings is a map that keeps its type in a frame.
type Strings map[string]string

// types returns the types that keep their identity in a field of type any.
func types() (cbor.TagSet, error) {
	const ours = 53_001 // an unregistered number
	set := cbor.NewTagSet()
	err := set.Add(cbor.TagOptions{DecTag: cbor.DecTagOptional, EncTag: cbor.EncTagRequired},
		reflect.TypeFor[Strings](), ours)
	return set, err
}

// Encode writes a value.
func Encode(value any) ([]byte, error) {
	set, err := types()
	if err != nil {
		return nil, err
	}
	mode, err := cbor.EncOptions{}.EncModeWithTags(set)
	if err != nil {
		return nil, err
	}
	return mode.Marshal(value)
}

// Decode reads a value.
func Decode(data []byte, into any) error {
	set, err := types()
	if err != nil {
		return err
	}
	mode, err := cbor.DecOptions{
		DefaultMapType: reflect.TypeFor[map[string]any](), IntDec: cbor.IntDecConvertSignedOrFail,
		UTF8:        cbor.UTF8DecodeInvalid,
		MaxMapPairs: 1 << 20, MaxArrayElements: 1 << 20, MaxNestedLevels: 256,
	}.DecModeWithTags(set)
	if err != nil {
		return err
	}
	return mode.Unmarshal(data, into)
}
