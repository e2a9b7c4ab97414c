package service

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/agentry-dev/agentry/gitsync/fleet"
	"github.com/agentry-dev/agentry/internal/forge"
	"github.com/agentry-dev/agentry/internal/forge/observer"
	"github.com/agentry-dev/agentry/internal/notify"
	"github.com/agentry-dev/agentry/internal/oci"
	"github.com/agentry-dev/agentry/internal/pipeline"
	"github.com/agentry-dev/agentry/internal/preview"
	"github.com/agentry-dev/agentry/internal/replica"
	"github.com/agentry-dev/agentry/internal/telemetry"
)

// teller tells others what passes did, in its own time.
type teller struct {
	what     string
	observer fleet.Observer
	run      func(context.Context) error
}

// tellOthers makes the tellers. What others see comes from one replica only; previews look
// after that themselves, as they have to hear which pipelines are another one's.
func (s *service) tellOthers(sites *forge.Sites) *preview.Previewer {
	events := notify.New(notify.Options{Secrets: s.secretsOf, Instance: instance(), Log: s.log})
	forges := observer.New(observer.Options{Sites: sites, Secrets: s.secretsOf, Log: s.log})
	artifacts := oci.New(oci.Options{Pool: s.pool, Secrets: s.secretsOf, Log: s.log})
	previews := preview.New(preview.Options{Sites: sites, Pool: s.pool, Secrets: s.secretsOf, Version: s.options.Version, Log: s.log})
	s.tellers = []teller{
		{"events", s.alone(events), events.Run},
		{"statuses and pull requests", s.alone(forges), forges.Run},
		{"artifacts", s.alone(artifacts), artifacts.Run},
		{"previews", previews, previews.Run},
	}
	return previews
}

func (s *service) secretsOf(d *fleet.Definition) (*pipeline.Secrets, error) {
	secrets, err := s.loader.Secrets(d)
	return &secrets, err
}

// alone lets an observer hear only of pipelines of which no other replica tells.
func (s *service) alone(o fleet.Observer) fleet.Observer {
	if s.replica == nil {
		return o
	}
	return holder{o, s.replica.Holds}
}

// holder is an observer of what a replica holds.
type holder struct {
	fleet.Observer
	holds func(key string) bool
}

// Passed implements [fleet.Observer].
func (h holder) Passed(ctx context.Context, o fleet.Outcome) {
	if h.holds(o.After.SliceKey) {
		h.Observer.Passed(ctx, o)
	}
}

func limitsOf(sites *forge.Sites) []telemetry.RateLimit {
	var out []telemetry.RateLimit
	for _, l := range sites.RateLimits() {
		out = append(out, telemetry.RateLimit{Host: l.Host, Remaining: l.Remaining})
	}
	return out
}

// Replicas are those that share a fleet, by Leases of Kubernetes. Without a namespace there
// are none.
type Replicas struct {
	Namespace, Name, Kubeconfig string
}

func (r Replicas) open(log *slog.Logger) (*replica.Replica, error) {
	if r.Namespace == "" {
		return nil, nil
	}
	config, err := replica.Config(r.Kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("replicas: %w", err)
	}
	client, err := replica.NewClient(config, r.Namespace, r.Name)
	if err != nil {
		return nil, fmt.Errorf("replicas: %w", err)
	}
	return replica.New(replica.Options{Leases: client, Name: r.Name, Identity: instance(), Log: log})
}
