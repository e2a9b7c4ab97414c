package service

import (
	"context"
	"sync"

	"github.com/agentry-dev/agentry/gitsync/fleet"
	"github.com/agentry-dev/agentry/internal/delivery"
	"github.com/agentry-dev/agentry/internal/forge"
	"github.com/agentry-dev/agentry/internal/forge/observer"
	"github.com/agentry-dev/agentry/internal/notify"
	"github.com/agentry-dev/agentry/internal/oci"
	"github.com/agentry-dev/agentry/internal/outbox"
	"github.com/agentry-dev/agentry/internal/pipelinefile"
	"github.com/agentry-dev/agentry/internal/preview"
	"github.com/agentry-dev/agentry/internal/telemetry"
)

// notifier publishes the results of passes, without delaying them.
type notifier struct {
	name     string
	observer fleet.Observer
	run      func(context.Context) error
	stats    func() outbox.Stats // counts of its outbox; nil if it has none
}

// newNotifiers returns the notifiers, and sets s.delivery, whose outcomes one of them publishes. Only the active
// replica publishes. Previews check that themselves, because they must know when another replica becomes active.
func (s *service) newNotifiers(sites *forge.Sites) []notifier {
	events := notify.New(notify.Options{Secrets: s.secretsOf, Instance: instance(), Log: s.log})
	forges := observer.New(observer.Options{Sites: sites, Secrets: s.secretsOf, MayPublish: s.mayPublish(), Log: s.log})
	if s.options.DeliveryTokenFile != "" {
		s.delivery = delivery.New(delivery.Options{Applied: s.metrics.Applied, Changed: forges.Delivered, Log: s.log})
		s.metrics.Delivery(s.delivery.Unapplied)
	}
	artifacts := oci.New(oci.Options{Pool: s.pool, Secrets: s.secretsOf, MayPublish: s.mayPublish(), Log: s.log})
	out := []notifier{
		{"events", s.whileActive(events), events.Run, events.Stats},
		{"forges", s.whileActive(forges), forges.Run, forges.Stats},
		{"artifacts", s.whileActive(artifacts), artifacts.Run, artifacts.Stats},
		{"previews", s.previews, s.previews.Run, nil},
	}
	switch traces, err := telemetry.NewTraces(s.options.Version, s.log); {
	case err != nil:
		s.log.Warn("traces are not exported", "err", err)
	case traces != nil: // on passive replicas too
		out = append(out, notifier{"traces", traces, traces.Run, nil})
	}
	return out
}

func (s *service) newPreviewer(sites *forge.Sites) *preview.Previewer {
	return preview.New(preview.Options{
		Sites: sites, Pool: s.pool, Secrets: s.secretsOf, MayPublish: s.mayPublish(), Version: s.options.Version,
		Log:  s.log,
		Gate: func(ctx context.Context) (func(), error) { return s.fleet.Gate(ctx) }, // s.fleet is set later
	})
}

// notify runs the notifiers until ctx ends, and then until each has delivered what it can.
func (s *service) notify(ctx context.Context) {
	var running sync.WaitGroup
	for _, n := range s.notifiers {
		running.Go(func() {
			if err := n.run(ctx); err != nil {
				s.log.Warn("stopped before all notifications were delivered", "notifier", n.name, "err", err)
			}
		})
	}
	running.Wait()
}

// mayPublish returns a function to call right before publishing, or nil if there are no replicas.
func (s *service) mayPublish() func() bool {
	if s.replica == nil {
		return nil
	}
	return s.replica.MayPublish
}

func (s *service) secretsOf(d *fleet.Definition) (*pipelinefile.Secrets, error) {
	secrets, err := s.loader.Secrets(d)
	return &secrets, err
}
