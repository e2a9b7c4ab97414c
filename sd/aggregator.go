// Package sd is the sd-aggregator. It finds the integration pods of GrafanaAgents, asks each which
// integrations it runs, and serves their targets as one http_sd document to the agents that scrape.
//
// Package discover finds the pods, poll asks them, and merge checks and joins the answers. This
// package connects them and serves the document. A request never waits for a pod. Nothing is served
// before the document is complete, because a consumer drops the targets that a list lacks.
package sd

import (
	"cmp"
	"context"
	"crypto/tls"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/agentry-dev/agentry/sd/discover"
	"github.com/agentry-dev/agentry/sd/merge"
	"github.com/agentry-dev/agentry/sd/poll"
)

// Options are the settings of an Aggregator. Zero values are the defaults, except for Source
// and Log, which must be set.
type Options struct {
	// Source finds the pods.
	Source discover.Source
	Log    *slog.Logger
	// Version is sent to pods and shown on the page.
	Version string
	// Interval is the time between two polls of a pod. Default [DefaultInterval].
	Interval time.Duration
	// PodTimeout bounds a poll. Default [DefaultPodTimeout].
	PodTimeout time.Duration
	// PodTLS returns the settings for a connection to a pod. Without it pods are asked over HTTP.
	PodTLS func() *tls.Config
	// Workers is the number of pods polled at a time. Default [DefaultWorkers].
	Workers int
	// MaxPodBytes bounds the answer of a pod. Default [DefaultMaxPodBytes].
	MaxPodBytes int64
	// MaxDocumentBytes bounds the document. Default [DefaultMaxDocumentBytes].
	MaxDocumentBytes int
	// Limits bound the answer of a pod. Default [merge.DefaultLimits].
	Limits merge.Limits
	// Peers are the other replicas. Without them, a new process knows only the pods that answer it.
	Peers *Peers
}

// The defaults of [Options].
const (
	DefaultInterval         = 30 * time.Second
	DefaultPodTimeout       = 5 * time.Second
	DefaultWorkers          = 128
	DefaultMaxPodBytes      = 1 << 20
	DefaultMaxDocumentBytes = 256 << 20
)

// firstTimeout bounds the polls that consumers wait for after a start.
const firstTimeout = 2 * time.Second

// Aggregator is the sd-aggregator without its listeners.
type Aggregator struct {
	source  discover.Source
	poller  *poll.Poller
	metrics *metrics
	log     *slog.Logger
	version string
	admin   *http.ServeMux
	buffers sync.Pool
}

// New makes an aggregator. It works while Run runs.
func New(o Options) *Aggregator {
	o.Interval = cmp.Or(o.Interval, DefaultInterval)
	o.PodTimeout = cmp.Or(o.PodTimeout, DefaultPodTimeout)
	o.Workers = cmp.Or(o.Workers, DefaultWorkers)
	o.MaxPodBytes = cmp.Or(o.MaxPodBytes, DefaultMaxPodBytes)
	o.MaxDocumentBytes = cmp.Or(o.MaxDocumentBytes, DefaultMaxDocumentBytes)
	o.Limits = cmp.Or(o.Limits, merge.DefaultLimits())
	client := poll.NewClient(poll.ClientOptions{TLS: o.PodTLS, MaxBytes: o.MaxPodBytes,
		UserAgent: userAgent(o.Version)})
	registry := prometheus.NewRegistry()
	a := &Aggregator{source: o.Source, metrics: newMetrics(registry), log: o.Log, version: o.Version}
	polls := poll.Options{
		Interval: o.Interval, Timeout: o.PodTimeout, FirstTimeout: firstTimeout,
		Workers: max(o.Workers, poll.MinWorkers),
		Scheme:  client.Scheme(), Limits: o.Limits, MaxDocument: o.MaxDocumentBytes,
		Fetcher: client, Observer: a.metrics, Log: o.Log,
	}
	if o.Peers != nil {
		polls.Recall = newRecaller(o, client).recall
	}
	a.poller = poll.New(polls)
	registry.MustRegister(collector{a})
	a.admin = a.adminMux(registry)
	return a
}

func userAgent(version string) string { return "agentry-sd-aggregator/" + version }

// Run finds and polls pods until ctx ends, and returns when all of its goroutines have ended.
func (a *Aggregator) Run(ctx context.Context) {
	changes := make(chan struct{}, 1)
	var running sync.WaitGroup
	running.Go(func() { a.poller.Run(ctx) })
	running.Go(func() {
		a.source.Run(ctx, func() {
			select {
			case changes <- struct{}{}:
			default: // A pending signal covers this change too.
			}
		})
	})
	defer running.Wait()
	for {
		select {
		case <-ctx.Done():
			return
		case <-changes:
			if found := a.source.Found(); found.Synced {
				a.poller.Set(found.Pods)
			}
		}
	}
}
