package gitsync

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Defaults of a pipeline.
const (
	DefaultInterval  = time.Minute
	DefaultAuthor    = "agentry <agentry@localhost>"
	DefaultMessage   = "{{ (index .Sources 0).Commit | short }}: {{ (index .Sources 0).Subject }}"
	DefaultDeletions = "50%"
)

// Default fills in every field that is left out and has a default. It may be called
// before Validate, and more than once.
func (p *Pipeline) Default() {
	s := &p.Spec
	if s.Interval == nil {
		s.Interval = &metav1.Duration{Duration: DefaultInterval}
	}
	setDefault(&s.Compatibility, CompatibilityOperator)
	setDefault(&s.OnInvalid, OnInvalidHold)
	setDefault(&s.Secrets.Policy, SecretsReference)
	setDefault(&s.Limits.Deletions, DefaultDeletions)
	s.SDAggregator.setDefaults()
	for i := range s.Sources {
		if len(s.Sources[i].Paths) == 0 {
			s.Sources[i].Paths = []string{"."}
		}
	}
	s.Output.setDefaults(s.Sources)
}

func (o *Output) setDefaults(sources []Source) {
	setDefault(&o.Path, ".")
	setDefault(&o.Commit.Author, DefaultAuthor)
	setDefault(&o.Commit.Message, DefaultMessage)
	if len(sources) > 0 {
		setDefault(&o.URL, sources[0].URL)
	}
}

// InheritsAuth reports whether the output is written with the credentials of the first
// source: it has none of its own and is the same repository.
func (s *PipelineSpec) InheritsAuth() bool {
	return len(s.Sources) > 0 && s.Output.Auth.IsZero() && repository(s.Output.URL) == repository(s.Sources[0].URL)
}

func setDefault[T ~string](field *T, value T) {
	if *field == "" {
		*field = value
	}
}
