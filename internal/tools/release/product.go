package main

import (
	"fmt"
	"strings"
)

// product is a set of files that are installed together.
type product struct {
	name     string
	says     string
	programs []string
	// pages are manual pages.
	pages []string
	// onlyLinux means that it runs only in a cluster.
	onlyLinux bool
	// packaged means that there are packages for Linux distributions.
	packaged bool
}

func products() []product {
	return []product{
		{
			name: "agentry", says: "Renders Grafana Agent Operator custom resources from Git to Git",
			programs: []string{"agentry", "agentry-charts", "agentry-sops"}, pages: []string{manual}, packaged: true,
		},
		{
			name: "sd-aggregator", says: "One http_sd document for every running integration of Grafana Agents",
			programs: []string{"sd-aggregator"}, onlyLinux: true,
		},
	}
}

func (p product) isFor(at platform) bool { return at.os == "linux" || !p.onlyLinux }

// licences returns the files that accompany every copy.
func licences() []string { return []string{"LICENSE", "THIRD-PARTY-NOTICES.txt"} }

// maxBytes limits the sizes of the programs for linux/amd64. Raise a limit only with a reason: agentry has the schemas
// as tables that need no time at the start, the clients of GitHub, GitLab and Gitea, and the types of the objects in
// which Prometheus finds targets.
func maxBytes() map[string]int64 {
	return map[string]int64{"agentry": 66_000_000, "agentry-charts": 40_000_000, "agentry-sops": 58_000_000,
		"sd-aggregator": 41_000_000}
}

// platform is an operating system and an architecture, in Go's names.
type platform struct{ os, arch string }

func parsePlatform(text string) (platform, error) {
	os, arch, ok := strings.Cut(text, "/")
	if !ok || os == "" || arch == "" {
		return platform{}, fmt.Errorf("platform %q does not have the form linux/amd64", text)
	}
	if os == "windows" {
		return platform{}, fmt.Errorf("%s: agentry locks its caches in a way that Windows does not support", text)
	}
	return platform{os, arch}, nil
}

// String returns the platform's form in file names.
func (p platform) String() string { return p.os + "_" + p.arch }
