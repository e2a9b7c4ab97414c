package merge

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// reference decodes an answer with encoding/json, without limits.
func reference(body []byte) (elements []json.RawMessage, err error) {
	array := json.NewDecoder(bytes.NewReader(body))
	if start, err := array.Token(); err != nil || start != json.Delim('[') {
		return nil, fmt.Errorf("no array: %w", err)
	}
	for array.More() {
		var raw json.RawMessage
		if err := array.Decode(&raw); err != nil {
			return nil, err
		}
		elements = append(elements, raw)
	}
	if _, err := array.Token(); err != nil {
		return nil, err
	}
	if _, err := array.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("more follows")
	}
	return elements, nil
}

// referenceGroup reads an element with encoding/json.
func referenceGroup(raw []byte) (targets []*string, labels map[string]*string, err error) {
	if raw[0] != '{' {
		return nil, nil, errors.New("not an object")
	}
	var group struct {
		Targets []*string          `json:"targets"`
		Labels  map[string]*string `json:"labels"`
	}
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&group); err != nil {
		return nil, nil, err
	}
	if slices.Contains(slices.Collect(maps.Values(group.Labels)), nil) {
		return nil, nil, errors.New("a label is null")
	}
	return group.Targets, group.Labels, nil
}

// ours decodes an answer like reference, but with this package.
func ours(raw []byte) (targets []*string, labels map[string]*string, err error) {
	var d decoded
	if rejected := d.read(raw); rejected != nil {
		return nil, nil, errors.New(rejected.text)
	}
	for _, target := range d.targets {
		var text *string
		if target != nil {
			text = new(string(target))
		}
		targets = append(targets, text)
	}
	labels = map[string]*string{}
	for _, l := range d.labels {
		labels[string(l.name)] = new(string(l.value))
	}
	if len(labels) != len(d.labels) {
		return nil, nil, errors.New("a label twice")
	}
	return targets, labels, nil
}

// depth returns how deep the brackets of a body nest, valid or not.
func depth(body []byte) (deepest int) {
	now := 0
	for _, c := range body {
		switch c {
		case '[', '{':
			now++
		case ']', '}':
			now--
		}
		deepest = max(deepest, now)
	}
	return deepest
}

// agree compares this package with encoding/json for one body.
func agree(t *testing.T, body []byte) {
	t.Helper()
	if depth(body) > maxDepth {
		return // encoding/json allows more.
	}
	var elements []json.RawMessage
	err := eachElement(body, func(raw []byte) error {
		elements = append(elements, raw)
		return nil
	})
	want, wantErr := reference(body)
	if (err != nil) != (wantErr != nil) {
		t.Fatalf("%q: %v, but encoding/json says %v", body, err, wantErr)
	}
	if err != nil {
		return
	}
	if len(elements) != len(want) {
		t.Fatalf("%q: %d elements, but encoding/json finds %d", body, len(elements), len(want))
	}
	for i, raw := range elements {
		if !bytes.Equal(raw, want[i]) {
			t.Fatalf("%q, but encoding/json finds %q", raw, want[i])
		}
		if strings.ToValidUTF8(string(raw), "") != string(raw) {
			continue // Refused here.
		}
		targets, labels, err := ours(raw)
		wantTargets, wantLabels, wantErr := referenceGroup(raw)
		if (err != nil) != (wantErr != nil) {
			t.Fatalf("%q: %v, but encoding/json says %v", raw, err, wantErr)
		}
		if len(wantTargets) == 0 {
			wantTargets = nil
		}
		if wantLabels == nil {
			wantLabels = map[string]*string{}
		}
		if diff := cmp.Diff(wantTargets, targets); err == nil && diff != "" {
			t.Fatalf("%q: %s", raw, diff)
		}
		if diff := cmp.Diff(wantLabels, labels); err == nil && diff != "" {
			t.Fatalf("%q: %s", raw, diff)
		}
	}
}

// oddities are answers that only a strict reader accepts, or only a lenient one.
func oddities() []string {
	out := []string{
		`[{"targets":["a"],"targets":["b"]}]`, `[{"targets":["a","b"],"Targets":["c"]}]`,
		`[{"targets":["a"],"targets":null}]`, `[{"targets":[1],"targets":["a"]}]`,
		`[{"labels":{"a":"b"},"labels":{"c":"d"}}]`, `[{"labels":{"a":"b"},"labels":null}]`,
		`[{"labels":{"a":null,"a":"b"}}]`, `[{"labels":{"a":"b","a":null}}]`,
		`[{"labels":{"a":"1","b":"2","a":"3"}}]`, `[{"\u0074argets":["a"]}]`, `[{"target` + "\u017f" + `":["a"]}]`,
		`[{"target\u017f":["a"]}]`, `[{"":[]}]`,
		`[{"labels":{"a\u0062":"1","ab":"2"}}]`, `[{"labels":{"a":"\ud83d\ude00\ud800\udc\"}}]`,
		`[{"labels":{"a":"\ud83d\ude00\ud800x\udc00\/\b\f"}}]`,
		`[{"labels":[]}]`, `[{"targets":{}}]`, `[{"targets":""}]`, `[{"targets":true,"labels":false}]`,
		`[{"labels":{"a":{}}}]`, `[{"labels":{"a":["b"]}}]`,
		`[{"a":1}]`, `[{"targets":["a"]}}]`, `[{"targets" : [ "a" , null ] , "labels" : { } } ]`,
		`[{"targets":["a",]}]`, `[{"targets":["a"],}]`, `[{,}]`, `[{"a"}]`, `[{"a":}]`, `[{1:2}]`,
		`[0,-0,0.5,1e9,1E+9,-1.5e-9,10]`, `[00]`, `[01]`, `[-]`, `[1.]`, `[.5]`, `[1e]`, `[1e+]`, `[+1]`, `[0x1]`,
		`[1 2]`, `[NaN]`,
		`[true,false,null]`, `[tru]`, `[truee]`, `[nul`, `[True]`, "[\"\x00\"]", "[\"\x1f\"]", "[\"\x7f\"]", "[\"\t\"]",
		`["\x"]`, `["\u12g4"]`, `["\u"]`, `["\`, `["`, "[\x00]", "\x00", "[]\x00",
		"[\v]", "\u00a0[]", "[]\n\r\t ", "[\n,]", `[,]`, `[}`, `{]`, `]`, `[[]`, `[[],{}]`, `[{]}`, `["a" "b"]`,
		`['a']`, `[/**/]`, `["é` + "\xff" + `"]`,
	}
	for _, n := range []int{maxDepth - 1, maxDepth} {
		out = append(out, strings.Repeat("[", n)+strings.Repeat("]", n),
			strings.Repeat(`[{"a":`, n/2)+"1"+strings.Repeat("}]", n/2))
	}
	return out
}

func TestAnswersAreReadAsEncodingJSONDoes(t *testing.T) {
	for _, body := range oddities() {
		agree(t, []byte(body))
	}
	for _, test := range groupTests() {
		agree(t, []byte("["+test.group+","+good+"]"))
	}
	for _, test := range answerTests() {
		agree(t, []byte(test.body))
	}
	for _, body := range samples(t) {
		agree(t, body)
		for n := range len(body) {
			agree(t, body[:n])
		}
	}
}

func TestAnswersThatNestTooDeepAreRefused(t *testing.T) {
	nested := func(depth int) error {
		_, _, err := Parse([]byte("["+strings.Repeat("[", depth)+strings.Repeat("]", depth)+"]"), source(),
			DefaultLimits())
		return err
	}
	if err := nested(maxDepth); err != nil {
		t.Error(err)
	}
	if err := nested(maxDepth + 1); !errors.Is(err, ErrMalformed) {
		t.Error(err)
	}
}

// FuzzRead compares this package with encoding/json for any bytes.
func FuzzRead(f *testing.F) {
	for _, body := range oddities() {
		f.Add([]byte(body))
	}
	for _, body := range samples(f) {
		f.Add(body)
	}
	f.Fuzz(agree)
}
