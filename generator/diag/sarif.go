package diag

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"net/url"
	"strings"
)

// SARIF prints a log of SARIF 2.1.0, which GitHub code scanning, GitLab and editors read. A rule is a code. A result
// keeps its fingerprint when it moves to another line. Many problems of one [Cause] are one result with related
// locations.
type SARIF struct{}

var _ Printer = SARIF{}

// The parts of a log that are printed, by the names of the standard (OASIS SARIF 2.1.0, section 3).
type (
	sarifLog struct {
		Schema  string     `json:"$schema"`
		Version string     `json:"version"`
		Runs    []sarifRun `json:"runs"`
	}
	sarifRun struct {
		Tool struct {
			Driver sarifDriver `json:"driver"`
		} `json:"tool"`
		ColumnKind string        `json:"columnKind"`
		Results    []sarifResult `json:"results"`
	}
	sarifDriver struct {
		Name  string      `json:"name"`
		Rules []sarifRule `json:"rules"`
	}
	sarifRule struct {
		ID    string    `json:"id"`
		Short sarifText `json:"shortDescription"`
		Help  sarifText `json:"help"`
	}
	sarifText struct {
		Text string `json:"text"`
	}
	sarifResult struct {
		Rule         string            `json:"ruleId"`
		Index        int               `json:"ruleIndex"`
		Level        string            `json:"level"`
		Message      sarifText         `json:"message"`
		Locations    []sarifLocation   `json:"locations,omitempty"`
		Related      []sarifLocation   `json:"relatedLocations,omitempty"`
		Fingerprints map[string]string `json:"partialFingerprints"`
	}
	sarifLocation struct {
		Physical *sarifPhysical `json:"physicalLocation,omitempty"`
		Logical  []sarifLogical `json:"logicalLocations,omitempty"`
	}
	sarifPhysical struct {
		Artifact struct {
			URI string `json:"uri"`
		} `json:"artifactLocation"`
		Region *sarifRegion `json:"region,omitempty"`
	}
	sarifRegion struct {
		Line   int `json:"startLine"`
		Column int `json:"startColumn,omitempty"`
	}
	sarifLogical struct {
		Name string `json:"fullyQualifiedName"`
		Kind string `json:"kind"`
	}
)

// Print implements Printer.
func (SARIF) Print(w io.Writer, list List) error {
	run := sarifRun{ColumnKind: "unicodeCodePoints", Results: []sarifResult{}}
	run.Tool.Driver = sarifDriver{Name: "agentry", Rules: []sarifRule{}}
	rules := map[Code]int{}
	add := func(result sarifResult) {
		code := Code(result.Rule)
		at, known := rules[code]
		if !known {
			at = len(run.Tool.Driver.Rules)
			rules[code] = at
			run.Tool.Driver.Rules = append(run.Tool.Driver.Rules, newSarifRule(code))
		}
		result.Index = at
		run.Results = append(run.Results, result)
	}
	apart, blocks := list.once().together()
	for _, d := range apart {
		add(newSarifResult(d, d.Problem()))
	}
	for _, b := range blocks {
		add(newSarifBlock(b))
	}
	return WriteJSON(w, sarifLog{
		Schema:  "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json",
		Version: "2.1.0", Runs: []sarifRun{run},
	})
}

func newSarifRule(code Code) sarifRule {
	info, found := Lookup(code)
	if !found {
		return sarifRule{ID: string(code), Short: sarifText{string(code)}, Help: sarifText{string(code)}}
	}
	return sarifRule{ID: string(code), Short: sarifText{info.Summary}, Help: sarifText{info.Help}}
}

// newSarifResult returns a result. Its identity is, beside its object and file, what stays the same when it moves.
func newSarifResult(d Diagnostic, identity string) sarifResult {
	sum := sha256.Sum256([]byte(strings.Join([]string{string(d.Code), d.Object.String(), d.Source, d.File, identity},
		"\x00")))
	return sarifResult{
		Rule: string(d.Code), Level: sarifLevel(d.Severity), Message: sarifText{Plain(d.fullText())},
		Fingerprints: map[string]string{"agentry/v1": hex.EncodeToString(sum[:])}, Locations: sarifLocations(d),
	}
}

// newSarifBlock returns one result at the first place, to which the others are related.
func newSarifBlock(b block) sarifResult {
	out := newSarifResult(b.diagnostic(), b.title())
	out.Locations = sarifLocations(b[0])
	for _, d := range b[1:] {
		out.Related = append(out.Related, sarifLocations(d)...)
	}
	return out
}

// sarifLocations returns the place of a finding, if it is known.
func sarifLocations(d Diagnostic) []sarifLocation {
	var at sarifLocation
	if d.File != "" && d.File != "-" {
		at.Physical = &sarifPhysical{}
		at.Physical.Artifact.URI = (&url.URL{Path: d.File}).String()
		if d.Line > 0 {
			at.Physical.Region = &sarifRegion{Line: d.Line, Column: d.Column}
		}
	}
	if name := d.Object.String(); name != "" {
		at.Logical = []sarifLogical{{Name: OneLine(name), Kind: "object"}}
	}
	if at.Physical == nil && at.Logical == nil {
		return nil
	}
	return []sarifLocation{at}
}

func sarifLevel(s Severity) string {
	switch s {
	case Error:
		return "error"
	case Warning:
		return "warning"
	}
	return "note"
}
