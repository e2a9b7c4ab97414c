package fleet

import (
	"testing"
	"testing/synctest"
	"time"
)

// TestARoundThatATriggerAskedForIsNoPoll although a new pipeline, or one with another credential, wants
// it as well before it begins.
func TestARoundThatATriggerAskedForIsNoPoll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newTestbed(t)
		w.run(def("x", urlA))
		after(10 * time.Second)
		trigger := Trigger{Repository: "git.example.com/a", Reason: ReasonWebhook}
		w.fleet.Trigger(trigger)
		after(100 * time.Millisecond)
		w.push(urlA, "new")
		w.fleet.Trigger(trigger) // has to wait, as a round was just made
		after(100 * time.Millisecond)
		w.fleet.Set([]Definition{def("x", urlA), def("z", urlA)}, nil)
		after(10 * time.Second)
		same(t, "passes", w.passesOf("x"), seconds(0, 11))
		s, _ := w.fleet.Pipeline("x")
		same(t, "trigger", s.LastPass.Trigger, ReasonWebhook)
		w.push(urlA, "newer")
		after(time.Minute)
		s, _ = w.fleet.Pipeline("x")
		same(t, "trigger of the next", s.LastPass.Trigger, ReasonPoll)
	})
}
