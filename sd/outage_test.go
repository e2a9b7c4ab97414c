package sd

import (
	"net/http"
	"testing"
	"time"

	"github.com/agentry-dev/agentry/sd/discover"
	"github.com/agentry-dev/agentry/test/sd/fakeapi"
	"github.com/agentry-dev/agentry/test/sd/rig"
)

// TestNoPartialDocumentIsServedAtTheStart has a client that asks all the time. It is told to wait until the whole
// document is there.
func TestNoPartialDocumentIsServedAtTheStart(t *testing.T) {
	const pods, hanging = 60, 6
	r := newTestbedOn(t, func(api *fakeapi.Server) { api.Hang(true) })
	for i := range hanging {
		r.pods.Set(rig.Addr(i), rig.FaultNamed("hang").New())
	}
	r.putAll(true, numbered(pods))
	waited := 0
	r.until("ready", func() bool {
		response, body := r.do(http.MethodGet, r.sd.URL+Path)
		if response.StatusCode == http.StatusServiceUnavailable {
			if waited++; waited == 10 {
				r.api.Hang(false)
			}
			return false
		}
		groups, err := r.read(response, body)
		if want := (pods - hanging) * len(rig.Typical()); err != nil || len(groups) != want {
			t.Fatalf("%d targets of %d, %v", len(groups), want, err)
		}
		return true
	})
	if waited < 10 {
		t.Error("ready before the pods were known")
	}
}

// TestTheAPIServerGoes: while the server is unreachable or silent, the aggregator keeps its pods. When the server
// is back, the aggregator finds the changes, although the server forgot its history.
func TestTheAPIServerGoes(t *testing.T) {
	for name, lose := range map[string]func(*fakeapi.Server, bool){"away": (*fakeapi.Server).Away,
		"silent": (*fakeapi.Server).Hang} {
		t.Run(name, func(t *testing.T) {
			r := newTestbed(t)
			r.putAll(true, numbered(20))
			r.until("all answer", func() bool { return len(r.targets("")) == 20*len(rig.Typical()) })
			before := r.document(r.sd.URL)
			lose(r.api, true)
			r.putAll(true, numbered(10))
			r.put("gb", "more", "10.0.9.9")
			r.api.Forget()
			for end := time.Now().Add(500 * time.Millisecond); time.Now().Before(end); { // Ten rounds.
				if r.document(r.sd.URL) != before {
					t.Fatal("the document changed")
				}
				if response, _ := r.do(http.MethodGet, r.admin.URL+"/readyz"); response.StatusCode != http.StatusOK {
					t.Fatal(response.Status)
				}
			}
			lose(r.api, false)
			r.until("it caught up", func() bool {
				return len(r.targets("")) == 11*len(rig.Typical()) && r.status().Watches[0].State == discover.WatchGood
			})
		})
	}
}

// TestConsumersCostPodsNothing has many consumers: pods are polled no more often.
func TestConsumersCostPodsNothing(t *testing.T) {
	r := newTestbed(t)
	r.putAll(true, numbered(5))
	r.until("all answer", func() bool { return len(r.targets("")) == 5*len(rig.Typical()) })
	before, begun := r.pods.Polls(rig.Addr(0)), time.Now()
	for range 300 {
		r.document(r.sd.URL)
	}
	r.until("ten polls", func() bool { return r.pods.Polls(rig.Addr(0)) > before+10 })
	rounds := int(time.Since(begun)/testInterval) + 1
	if n := r.pods.Polls(rig.Addr(0)) - before; n > rounds+rounds/10+1 {
		t.Errorf("%d polls in %d intervals", n, rounds)
	}
}

// TestReplicasAreEqual: the order in which replicas learn of pods and answers makes no difference.
func TestReplicasAreEqual(t *testing.T) {
	r := newTestbed(t)
	r.putAll(true, numbered(30))
	r.put("another", "two", "10.0.9.9", "10.0.9.8")
	other, _ := r.replica(Options{Source: r.source()})
	r.until("the other is ready", func() bool {
		head, _ := r.do(http.MethodHead, other.URL+Path)
		return head.StatusCode == http.StatusOK
	})
	equal := func(targets int) {
		t.Helper()
		r.until("equal", func() bool {
			return len(r.targets("")) == targets && r.document(r.sd.URL) == r.document(other.URL)
		})
		a, _ := r.do(http.MethodHead, r.sd.URL+Path+"?grafanaagent=ns/another")
		b, _ := r.do(http.MethodHead, other.URL+Path+"?grafanaagent=ns/another")
		if tag := a.Header.Get("Etag"); tag == "" || tag != b.Header.Get("Etag") {
			t.Errorf("tags %q and %q", tag, b.Header.Get("Etag"))
		}
	}
	equal(32 * len(rig.Typical()))
	for i := range 15 {
		r.pods.Set(rig.Addr(i), rig.Runs("agent", "another"))
	}
	r.pods.Set(rig.Addr(20), rig.FaultNamed("reset").New())
	r.put("another", "two", "10.0.9.8")
	equal(16*len(rig.Typical()) + 15*2)
}
