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

// part is a part of the work that can fail while the others succeed.
type part string

// The parts. A third one, the election, is the elector's.
const (
	partNodes   part = "nodes"   // reading them
	partService part = "service" // writing the Service and its Endpoints
)

// status has the state of a replica. It logs changes, not every attempt.
type status struct {
	log     *slog.Logger
	elector *lease.Elector
	writes  *prometheus.CounterVec

	mu       sync.Mutex
	leading  bool
	failures map[part]error
	// The other fields are about the last write of this replica, or its check that no write was needed.
	at        time.Time
	addresses int
	homeless  []string // the nodes without a usable address
}

func newStatus(log *slog.Logger, elector *lease.Elector) *status {
	return &status{log: log, elector: elector, writes: newWrites(), failures: map[part]error{}}
}

// lead records that this replica begins or stops leading. A passive replica only stands for election, so nothing else
// can fail.
func (s *status) lead(begins bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.leading, s.at, s.addresses, s.homeless = begins, time.Time{}, 0, nil
	clear(s.failures)
	if begins {
		s.log.Info("leading: keeping the kubelet service")
		return
	}
	s.log.Info("not leading any more")
}

// report records whether a part works.
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
		s.log.Error("a part fails and is tried again; the Service stays as it is", "part", p, "err", err)
	}
}

// reason returns a text that is equal for equal failures. The texts of network errors differ every time.
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

// synced records that the API server has what the nodes need.
func (s *status) synced(nodes []node) {
	var homeless []string
	for _, n := range nodes {
		if n.address == "" {
			homeless = append(homeless, n.name)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(homeless) > len(s.homeless) {
		s.log.Warn("nodes without a usable address are left out", "count", len(homeless), "first", homeless[0])
	}
	s.at, s.addresses, s.homeless = time.Now(), len(nodes)-len(homeless), homeless
}

func (s *status) wrote(kind string) {
	s.writes.WithLabelValues(kind).Inc()
	s.log.Info("object written", "kind", kind)
}

// missing returns why the replica is not ready, or nil.
func (s *status) missing() error {
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
