package fleet

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

func TestIdleWaitsForThePassesOfItsKeys(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		own := &shards{mine: map[string]bool{"x": true, "y": true}}
		w := newWorld(t, func(o *Options) { o.Ownership = own })
		w.takes = 5 * time.Second
		w.run(def("x", urlA))
		after(2 * time.Second)
		own.set("x", false)
		w.fleet.Rebalance()
		idle := func(key string) (time.Duration, error) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			err := w.fleet.Idle(ctx, func(k string) bool { return k == key })
			return time.Since(w.began), err
		}
		if at, err := idle("y"); err != nil || at != 2*time.Second {
			t.Errorf("nothing of y is under way: %v after %v", err, at)
		}
		if at, err := idle("x"); err != nil || at != 5*time.Second {
			t.Errorf("x ends after 5s: %v after %v", err, at)
		}
		w.mu.Lock()
		told := w.outcomes[len(w.outcomes)-1]
		w.mu.Unlock()
		if !told.IsPass() || told.Definition.Metadata.Name != "x" {
			t.Errorf("the observers do not know of the pass of x: %+v", told)
		}
		ctx, cancel := context.WithCancel(t.Context())
		own.set("x", true)
		w.fleet.Rebalance()
		after(time.Second)
		cancel()
		if err := w.fleet.Idle(ctx, func(string) bool { return true }); err == nil {
			t.Error("it has not waited")
		}
	})
}
