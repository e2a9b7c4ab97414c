package model

import "strings"

// Discovery is one entry of a list of service discoveries, as people configure them in a ScrapeConfig.
type Discovery struct {
	// Mechanism is Prometheus's name of the service discovery: consul, kubernetes, or static for targets in a list.
	Mechanism string
	// Path is the field, below the object of the job. A hand-written discovery has a Line in its text instead.
	Path string
	Line int
	// Settings are the fields specific to this service discovery, by Prometheus's names, which all runtimes share.
	// Variables are expanded in them only if they are expanded in all texts of the job.
	Settings Map
	HTTPClient
}

// LabelName returns the name under which Prometheus has a label of Kubernetes: each character that its own labels
// cannot have becomes _ (SanitizeLabelName of Prometheus's util/strutil).
func LabelName(name string) string {
	return strings.Map(func(r rune) rune {
		if r == '_' || r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z' {
			return r
		}
		return '_'
	}, name)
}
