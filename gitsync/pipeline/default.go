package pipeline

import (
	"net/url"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/generator/secretref"
	"github.com/agentry-dev/agentry/gitsync/repo/transport"
	"github.com/agentry-dev/agentry/inputs"
)

// Defaults of a pipeline.
const (
	DefaultInterval  = time.Minute
	DefaultAuthor    = "agentry <agentry@localhost>"
	DefaultMessage   = "{{ (index .Sources 0).Commit | short }}: {{ (index .Sources 0).Subject }}\n\n{{ .Difference }}"
	DefaultDeletions = "50%"

	DefaultPreviewInterval = 5 * time.Minute
	DefaultReceiverTimeout = 10 * time.Second
	DefaultSeverity        = diag.Info
	DefaultOCITag          = "latest"
)

// Limits of durations.
const (
	MinInterval        = time.Second
	MinPreviewInterval = 10 * time.Second
	MinReceiverTimeout = time.Second
	MaxReceiverTimeout = 5 * time.Minute
)

// Default sets every field that is empty and has a default. Call it before Validate. It may be called more than once.
func (p *Pipeline) Default() {
	s := &p.Spec
	setDuration(&s.Interval, DefaultInterval)
	setDefault(&s.Compatibility, manifest.Current)
	setDefault(&s.Runtime, RuntimeAgent)
	setDefault(&s.Sharding, ShardingRules)
	setDefault(&s.OnInvalid, OnInvalidHold)
	setDefault(&s.FailOn, diag.Error)
	setDefault(&s.UnknownFields, manifest.RefuseUnknownFields)
	setDefault(&s.Charts.Update, DefaultChartUpdate)
	setDefault(&s.Secrets.Policy, secretref.Reference)
	setDefault(&s.Limits.Deletions, DefaultDeletions)
	s.SDAggregator.setDefaults()
	for i := range s.Sources {
		s.Sources[i].setDefaults(s.refersTo(s.Sources[i].Name))
	}
	s.Output.setDefaults(s.Sources)
	for i := range s.Notify {
		setDefault(&s.Notify[i].Severity, DefaultSeverity)
	}
}

func (s *Source) setDefaults(isMounted bool) {
	if len(s.Paths) == 0 && !isMounted {
		s.Paths = []string{"."}
	}
	setDefault(&s.Build, inputs.Auto)
	if s.Forge != nil {
		s.Forge.setDefaults(s.URL)
	}
	if p := s.Previews; p != nil {
		setTrue(&p.Comment)
		setTrue(&p.Status)
		setDuration(&p.Interval, DefaultPreviewInterval)
	}
}

// setDefaults sets the site to the host of the repository. A port is kept only for https.
func (f *Forge) setDefaults(repository string) {
	normal, err := transport.NormaliseURL(repository)
	if err != nil || f.URL != "" {
		return
	}
	u, err := url.Parse(normal)
	if err != nil || u.Host == "" {
		return
	}
	host := u.Host
	if u.Scheme != "https" {
		host = strings.TrimSuffix(host, ":"+u.Port())
	}
	f.URL = "https://" + host
}

func (o *Output) setDefaults(sources []Source) {
	setDefault(&o.Path, ".")
	setDefault(&o.Commit.Author, DefaultAuthor)
	setDefault(&o.Commit.Message, DefaultMessage)
	if len(sources) > 0 {
		setDefault(&o.URL, sources[0].URL)
	}
	setDefault(&o.Promotion.Mode, PromoteDirect)
	o.inherit(sources)
	if o.Forge != nil {
		o.Forge.setDefaults(o.URL)
	}
	if o.OCI != nil {
		setDefault(&o.OCI.Tag, DefaultOCITag)
	}
	for i := range o.Receivers {
		setDuration(&o.Receivers[i].Timeout, DefaultReceiverTimeout)
	}
}

// inherit copies what the output does not set from the first source of the same repository. The forge is needed
// only for pull requests.
func (o *Output) inherit(sources []Source) {
	for _, s := range sources {
		if !SameRepository(s.URL, o.URL) {
			continue
		}
		if o.Webhook == nil && s.Webhook != nil {
			o.Webhook = new(*s.Webhook)
		}
		if o.Forge == nil && s.Forge != nil && o.Promotion.Mode == PromotePullRequest {
			o.Forge = new(*s.Forge)
		}
	}
}

// InheritsAuth reports whether the output is written with the credentials of the first source: it has none of
// its own and the same repository.
func (s *Spec) InheritsAuth() bool {
	return len(s.Sources) > 0 && s.Output.Auth.IsZero() &&
		SameRepository(s.Output.URL, s.Sources[0].URL)
}

func setDefault[T ~string](field *T, value T) {
	if *field == "" {
		*field = value
	}
}

func setDuration(field **metav1.Duration, value time.Duration) {
	if *field == nil {
		*field = &metav1.Duration{Duration: value}
	}
}

func setTrue(field **bool) {
	if *field == nil {
		*field = new(true)
	}
}
