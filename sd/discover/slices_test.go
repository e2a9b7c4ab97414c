package discover

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agentry-dev/agentry/test/sd/fakeapi"
)

// watching runs the watches of a test against a server. The function that it returns waits until the wanted pods are
// found.
func watching(t *testing.T, api *fakeapi.Server, namespaces ...string) func(what string, want func(Found) bool) Found {
	t.Helper()
	s, err := NewSlices(SlicesOptions{Config: api.Config(), Namespaces: namespaces, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	changes := make(chan struct{}, 1)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.Run(ctx, func() {
			select {
			case changes <- struct{}{}:
			default:
			}
		})
	}()
	t.Cleanup(func() {
		cancel()
		<-done
	})
	return func(what string, want func(Found) bool) Found {
		t.Helper()
		deadline := time.After(20 * time.Second)
		for {
			if f := s.Found(); want(f) {
				return f
			}
			select {
			case <-changes:
			case <-time.After(50 * time.Millisecond): // changed is not called for states of watches.
			case <-deadline:
				t.Fatalf("never: %s; found %+v", what, s.Found())
			}
		}
	}
}

func addresses(f Found) string {
	var out []string
	for _, p := range f.Pods {
		out = append(out, p.Owner.String()+"="+p.Addr.Addr().String())
	}
	return strings.Join(out, " ")
}

func has(want string) func(Found) bool {
	return func(f Found) bool { return f.Synced && addresses(f) == want }
}

func TestSlicesAreWatched(t *testing.T) {
	api := fakeapi.New(t)
	api.Put(fakeapi.Slice("a", "ga", "one", 80, "10.0.0.1"))
	until := watching(t, api)
	until("the first list", has("a/ga=10.0.0.1"))
	api.Put(fakeapi.Slice("b", "gb", "two", 80, "10.0.0.2"))
	until("a slice added", has("a/ga=10.0.0.1 b/gb=10.0.0.2"))
	api.Put(fakeapi.Slice("a", "ga", "one", 80, "10.0.0.1", "10.0.0.3"))
	until("a pod added", has("a/ga=10.0.0.1 a/ga=10.0.0.3 b/gb=10.0.0.2"))
	api.Put(fakeapi.Slice("a", "ga", "more", 80, "10.0.0.3"))
	api.Put(fakeapi.Slice("a", "ga", "one", 80, "10.0.0.1"))
	until("a slice split", has("a/ga=10.0.0.1 a/ga=10.0.0.3 b/gb=10.0.0.2"))
	api.Delete("b", "two")
	until("a slice deleted", has("a/ga=10.0.0.1 a/ga=10.0.0.3"))
	unmanaged := fakeapi.Slice("a", "ga", "more", 80, "10.0.0.3")
	unmanaged.Labels["endpointslice.kubernetes.io/managed-by"] = "me"
	api.Put(unmanaged)
	until("a slice taken over", has("a/ga=10.0.0.1"))
}

func TestWhatIsKnownStaysWhileTheServerIsAway(t *testing.T) {
	api := fakeapi.New(t)
	api.Put(fakeapi.Slice("a", "ga", "one", 80, "10.0.0.1"))
	until := watching(t, api, "a")
	until("the first list", has("a/ga=10.0.0.1"))
	api.Away(true)
	f := until("failing", func(f Found) bool { return f.Watches[0].State == WatchFailing })
	if !has("a/ga=10.0.0.1")(f) || f.Watches[0].Error == "" {
		t.Errorf("%+v", f)
	}
	api.Put(fakeapi.Slice("a", "ga", "one", 80, "10.0.0.9"))
	lists := api.Lists()
	api.Forget()
	api.Away(false)
	f = until("a new list", has("a/ga=10.0.0.9"))
	if f.Watches[0].State != WatchGood || api.Lists() == lists {
		t.Errorf("%+v after %d lists", f.Watches, api.Lists())
	}
}

func TestAForbiddenNamespaceDoesNotStopTheRest(t *testing.T) {
	api := fakeapi.New(t)
	api.Forbid("b", true)
	api.Put(fakeapi.Slice("a", "ga", "one", 80, "10.0.0.1"))
	api.Put(fakeapi.Slice("b", "gb", "two", 80, "10.0.0.2"))
	until := watching(t, api, "a", "b")
	f := until("synced", has("a/ga=10.0.0.1"))
	b := f.Watches[slices.IndexFunc(f.Watches, func(w Watch) bool { return w.Name == "b" })]
	if b.State != WatchForbidden || b.Known || b.Error == "" {
		t.Errorf("%+v", b)
	}
	api.Forbid("b", false)
	until("allowed", has("a/ga=10.0.0.1 b/gb=10.0.0.2"))
	api.Forbid("b", true)
	f = until("forbidden again", func(f Found) bool { return f.Watches[1].State == WatchForbidden })
	if !has("a/ga=10.0.0.1 b/gb=10.0.0.2")(f) {
		t.Error("what was known is gone:", addresses(f))
	}
}

func TestNothingIsKnownBeforeTheFirstList(t *testing.T) {
	api := fakeapi.New(t)
	api.Away(true)
	until := watching(t, api)
	f := until("failing", func(f Found) bool { return f.Watches[0].State == WatchFailing })
	if f.Synced || f.Watches[0].Known {
		t.Errorf("%+v", f)
	}
	api.Away(false)
	until("synced", has(""))
}
