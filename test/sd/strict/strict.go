// Package strict reads an http_sd answer like the strictest of its clients: Prometheus's, and the one in Grafana Agent
// v0.44, which knows only legacy label names. It is for tests.
//
// With -tags oracle the real clients read the answer too: it is an error if one of them refuses an answer that is
// accepted here, or finds other groups in it.
package strict

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"regexp"
	"unicode/utf8"
)

// Group is one group of an answer.
type Group struct {
	Targets []string          `json:"targets"`
	Labels  map[string]string `json:"labels"`
}

var legacyName = regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_]*$`)

// Parse reads the body of an answer. The error says why a client would refuse all of it.
func Parse(body []byte) ([]Group, error) {
	return Read(http.StatusOK, http.Header{"Content-Type": {"application/json"}}, body)
}

// Read reads an answer. The error says why a client would refuse it and keep its previous targets.
func Read(status int, header http.Header, body []byte) ([]Group, error) {
	groups, err := read(status, header, body)
	if err != nil {
		return nil, err
	}
	return groups, confirm(status, header, body, groups)
}

func read(status int, header http.Header, body []byte) ([]Group, error) {
	switch {
	case status != http.StatusOK:
		return nil, fmt.Errorf("status %d", status)
	case header.Get("Content-Type") != "application/json":
		return nil, fmt.Errorf("content type %q", header.Get("Content-Type"))
	case header.Get("Content-Encoding") != "":
		return nil, fmt.Errorf("content encoding %q", header.Get("Content-Encoding"))
	}
	return parse(body)
}

// labels are decoded like in the clients: of two sets in one group only the last one counts, but both must be good.
type labels map[string]string

// UnmarshalJSON implements json.Unmarshaler.
func (l *labels) UnmarshalJSON(data []byte) error {
	var fresh map[string]*string
	if err := json.Unmarshal(data, &fresh); err != nil {
		return err
	}
	*l = labels{}
	for name, value := range fresh {
		if !legacyName.MatchString(name) || value == nil {
			return fmt.Errorf("bad label %q", name)
		}
		(*l)[name] = *value
	}
	return nil
}

func parse(body []byte) ([]Group, error) {
	if !utf8.Valid(body) {
		return nil, errors.New("not UTF-8")
	}
	var groups []*struct {
		Targets []*string `json:"targets"`
		Labels  labels    `json:"labels"`
	}
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&groups); err != nil {
		return nil, err
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("more follows after the array")
	}
	if groups == nil {
		return nil, errors.New("null")
	}
	out := make([]Group, 0, len(groups))
	for i, g := range groups {
		if g == nil || len(g.Targets) != 1 || g.Targets[0] == nil {
			return nil, fmt.Errorf("group %d has not one target", i)
		}
		group := Group{Targets: []string{*g.Targets[0]}, Labels: map[string]string{}}
		maps.Copy(group.Labels, g.Labels)
		out = append(out, group)
	}
	return out, nil
}
