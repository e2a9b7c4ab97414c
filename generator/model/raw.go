package model

import (
	"go.yaml.in/yaml/v3"
)

// Raw is a scrape configuration that a user wrote by hand. It is printed as text.
type Raw struct {
	// Origin is the Secret, and the field that refers to it.
	Origin Origin
	// Text is a block mapping without indentation, as the user wrote it.
	Text []byte
	// Redacted is the text without the credentials that the agent masks, or nil if it has none.
	Redacted []byte
	// Shown is the text for reviewers, or nil if they may see all of it. It also hides credentials in parameters,
	// which the agent does not mask.
	Shown []byte
	// Relabel rules are appended to the rules in Text.
	Relabel []*Relabel
	// Job is the parsed text, without aliases and nulls. It must not be changed.
	Job *yaml.Node
}

// Name returns the name of the job.
func (r *Raw) Name() string { return r.Field("job_name") }

// Child returns the value of a field, or nil.
func (r *Raw) Child(name string) *yaml.Node {
	if r.Job == nil {
		return nil
	}
	for i := 0; i+1 < len(r.Job.Content); i += 2 {
		if r.Job.Content[i].Value == name {
			return r.Job.Content[i+1]
		}
	}
	return nil
}

// Field returns the text of a scalar field, or "".
func (r *Raw) Field(name string) string {
	if v := r.Child(name); v != nil && v.Kind == yaml.ScalarNode {
		return v.Value
	}
	return ""
}
