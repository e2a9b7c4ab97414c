package chart

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	"github.com/Masterminds/semver/v3"
	"go.yaml.in/yaml/v3"
)

// index has the fields of a repository's index.yaml that are used.
type index struct {
	Entries map[string][]entry `yaml:"entries"`
}

// entry is a version of a chart.
type entry struct {
	Version string   `yaml:"version"`
	Digest  string   `yaml:"digest"`
	URLs    []string `yaml:"urls"`
}

func parseIndex(text []byte) (*index, error) {
	var out index
	if err := yaml.NewDecoder(bytes.NewReader(text)).Decode(&out); err != nil {
		return nil, errors.New("its index.yaml is not the index of a repository")
	}
	return &out, nil
}

// find finds a version of a chart.
func (x *index) find(name, version string) (entry, error) {
	entries := x.Entries[name]
	if len(entries) == 0 {
		return entry{}, absentError("the repository has no such chart")
	}
	var versions []string
	for _, e := range entries {
		versions = append(versions, e.Version)
	}
	chosen, err := choose(versions, version)
	if err != nil {
		return entry{}, err
	}
	return entries[slices.Index(versions, chosen)], nil
}

// choose returns the version that is written like wanted, or else the highest one in the range wanted. As in Helm and
// Flux, only ranges that name a pre-release match pre-releases.
func choose(versions []string, wanted string) (string, error) {
	if slices.Contains(versions, wanted) && wanted != "" {
		return wanted, nil
	}
	if wanted == "" {
		wanted = "*"
	}
	in, err := semver.NewConstraint(wanted)
	if err != nil {
		return "", absentError(fmt.Sprintf("%.100q is neither a version of the chart nor a range of versions", wanted))
	}
	best, chosen := (*semver.Version)(nil), ""
	for _, text := range versions {
		v, err := semver.NewVersion(text)
		if err != nil || !in.Check(v) {
			continue
		}
		// Versions that differ only in metadata are equal; choose one independently of the order.
		if best == nil || v.GreaterThan(best) || v.Equal(best) && text > chosen {
			best, chosen = v, text
		}
	}
	if best == nil {
		return "", absentError(fmt.Sprintf("the repository has no version of the chart in %.100q", wanted))
	}
	return chosen, nil
}

// absentError says that a repository has no such chart, or no such version of it.
type absentError string

// Error implements error.
func (e absentError) Error() string { return string(e) }
