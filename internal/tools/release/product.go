package main

import (
	"fmt"
	"strings"
)

// product is what people install as one.
type product struct {
	name     string
	says     string
	programs []string
	// pages are manual pages.
	pages []string
	// onlyLinux: it runs in a cluster and nowhere else.
	onlyLinux bool
	// packaged: there are packages for Linux distributions.
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

// licences are the files that go with every copy.
func licences() []string { return []string{"LICENSE", "THIRD-PARTY-NOTICES.txt"} }

// maxBytes limits the programs for linux/amd64. Raise a limit only with a reason.
func maxBytes() map[string]int64 {
	return map[string]int64{"agentry": 62_000_000, "agentry-charts": 40_000_000, "agentry-sops": 58_000_000,
		"sd-aggregator": 40_000_000}
}

// platform is an operating system and an architecture, as Go names them.
type platform struct{ os, arch string }

func parsePlatform(text string) (platform, error) {
	os, arch, ok := strings.Cut(text, "/")
	if !ok || os == "" || arch == "" {
		return platform{}, fmt.Errorf("platform %q is not written like linux/amd64", text)
	}
	if os == "windows" {
		return platform{}, fmt.Errorf("%s: agentry locks its caches in a way that Windows does not have", text)
	}
	return platform{os, arch}, nil
}

// String returns the platform as it is in names of files.
func (p platform) String() string { return p.os + "_" + p.arch }
