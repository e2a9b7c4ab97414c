package model

import (
	"go.yaml.in/yaml/v3"
)

// Raw is one scrape configuration that a user wrote by hand: it stays text.
type Raw struct {
	// Origin is the Secret that it stands in, and the field.
	Origin Origin
	// Text is a block mapping without indentation, with what the user wrote as it is.
	Text []byte
	// Redacted is the text without its credentials; nil when it holds none.
	Redacted []byte
	// Job is the text as it is read, without aliases and nulls. It is not to be changed.
	Job *yaml.Node
}

// Name is the name of the job.
func (r *Raw) Name() string { return r.Field("job_name") }

// Child is the value of a field; nil when there is none.
func (r *Raw) Child(name string) *yaml.Node {
	for i := 0; i+1 < len(r.Job.Content); i += 2 {
		if r.Job.Content[i].Value == name {
			return r.Job.Content[i+1]
		}
	}
	return nil
}

// Field is the text of a scalar field; empty when there is none.
func (r *Raw) Field(name string) string {
	if v := r.Child(name); v != nil && v.Kind == yaml.ScalarNode {
		return v.Value
	}
	return ""
}
