package service

import (
	"context"

	"github.com/agentry-dev/agentry/gitsync/fleet"
	"github.com/agentry-dev/agentry/internal/forge"
	"github.com/agentry-dev/agentry/internal/forge/observer"
	"github.com/agentry-dev/agentry/internal/notify"
	"github.com/agentry-dev/agentry/internal/notify/outbox"
	"github.com/agentry-dev/agentry/internal/oci"
	"github.com/agentry-dev/agentry/internal/pipelinefile"
	"github.com/agentry-dev/agentry/internal/preview"
	"github.com/agentry-dev/agentry/internal/telemetry"
)

// teller tells others what passes did, in its own time.
type teller struct {
	what     string
	observer fleet.Observer
	run      func(context.Context) error
	outbox   string              // its name in metrics; empty: it has none
	stats    func() outbox.Stats // of it
}

// tellOthers makes the tellers. What others see comes from one replica only; previews look
// after that themselves, as they have to hear which pipelines are another one's.
func (s *service) tellOthers(sites *forge.Sites) *preview.Previewer {
	events := notify.New(notify.Options{Secrets: s.secretsOf, Instance: instance(), Log: s.log})
	forges := observer.New(observer.Options{Sites: sites, Secrets: s.secretsOf, MayPublish: s.mayPublish(), Log: s.log})
	artifacts := oci.New(oci.Options{Pool: s.pool, Secrets: s.secretsOf, MayPublish: s.mayPublish(), Log: s.log})
	previews := preview.New(preview.Options{
		Sites: sites, Pool: s.pool, Secrets: s.secretsOf, MayPublish: s.mayPublish(), Version: s.options.Version, Log: s.log,
		Gate: func(ctx context.Context) (func(), error) { return s.fleet.Gate(ctx) }, // there is no fleet yet
	})
	s.tellers = []teller{
		{"events", s.once(events), events.Run, "events", events.Stats},
		{"statuses and pull requests", s.once(forges), forges.Run, "forges", forges.Stats},
		{"artifacts", s.once(artifacts), artifacts.Run, "artifacts", artifacts.Stats},
		{"previews", previews, previews.Run, "", nil},
	}
	switch traces, err := telemetry.NewTraces(s.options.Version, s.log); {
	case err != nil:
		s.log.Warn("there are no traces", "err", err)
	case traces != nil: // of all replicas, as each makes passes of its own
		s.tellers = append(s.tellers, teller{"traces", traces, traces.Run, "", nil})
	}
	for _, t := range s.tellers {
		if t.outbox != "" {
			s.metrics.Outbox(t.outbox, t.stats)
		}
	}
	return previews
}

// mayPublish is asked right before others are told; nil if there are no replicas.
func (s *service) mayPublish() func(shardKey string) bool {
	if s.replica == nil {
		return nil
	}
	return s.replica.MayPublish
}

func (s *service) secretsOf(d *fleet.Definition) (*pipelinefile.Secrets, error) {
	secrets, err := s.loader.Secrets(d)
	return &secrets, err
}

func limitsOf(sites *forge.Sites) []telemetry.RateLimit {
	var out []telemetry.RateLimit
	for _, l := range sites.RateLimits() {
		out = append(out, telemetry.RateLimit{Host: l.Host, Remaining: l.Remaining})
	}
	return out
}
