package kubelet

import (
	"errors"
	"log/slog"
	"net/url"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/agentry-dev/agentry/internal/lease"
)

// part is a part of the work that can fail on its own.
type part string

// The parts. The elector tracks a third one, the election.
const (
	partNodes   part = "nodes"   // reading the nodes
	partService part = "service" // writing the Service and its Endpoints
)

// status is the state of a replica. It logs changes, not every attempt.
type status struct {
	log     *slog.Logger
	elector *lease.Elector
	writes  *prometheus.CounterVec

	mu       sync.Mutex
	leading  bool
	failures map[part]error
	// The other fields describe the last sync of this replica, whether or not it had to write.
	at        time.Time
	addresses int
	unusable  []string // the nodes without a usable address
}

func newStatus(log *slog.Logger, elector *lease.Elector) *status {
	return &status{log: log, elector: elector, writes: newWrites(), failures: map[part]error{}}
}

// lead records that this replica begins or stops leading. A replica that does not lead only stands for election, so it
// has no failures.
func (s *status) lead(begins bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.leading, s.at, s.addresses, s.unusable = begins, time.Time{}, 0, nil
	clear(s.failures)
	if begins {
		s.log.Info("leading: keeping the kubelet service")
		return
	}
	s.log.Info("no longer leading")
}

// report records the success (nil) or failure of a part.
func (s *status) report(p part, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := s.failures[p]
	if err == nil {
		delete(s.failures, p)
		if before != nil {
			s.log.Info("a part works again", "part", p)
		}
		return
	}
	s.failures[p] = err
	if before == nil || reason(before) != reason(err) {
		s.log.Error("a part fails and is retried; the Service is left unchanged", "part", p, "err", err)
	}
}

// reason returns the same text for equal failures. The texts of network errors differ every time.
func reason(err error) string {
	var answer apierrors.APIStatus
	if errors.As(err, &answer) {
		return string(answer.Status().Reason)
	}
	if _, network := errors.AsType[*url.Error](err); network {
		return "network"
	}
	return err.Error()
}

// synced records that the Service and its Endpoints match the nodes.
func (s *status) synced(nodes []node) {
	var unusable []string
	for _, n := range nodes {
		if n.address == "" {
			unusable = append(unusable, n.name)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(unusable) > len(s.unusable) {
		s.log.Warn("nodes without a usable address are left out", "count", len(unusable), "first", unusable[0])
	}
	s.at, s.addresses, s.unusable = time.Now(), len(nodes)-len(unusable), unusable
}

func (s *status) wrote(kind string) {
	s.writes.WithLabelValues(kind).Inc()
	s.log.Info("object written", "kind", kind)
}

// notReady returns an error that says why the replica is not ready, or nil.
func (s *status) notReady() error {
	election := s.elector.Status()
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case election.Holder == "":
		return errors.Join(errors.New("nobody leads yet"), election.Problem)
	case s.leading && s.at.IsZero():
		return errors.Join(errors.New("the Service is not written yet"), s.failures[partNodes], s.failures[partService])
	}
	return nil
}
