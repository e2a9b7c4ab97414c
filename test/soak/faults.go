package main

import (
	"context"
	"math/rand/v2"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

const stopSignal = syscall.SIGTERM

// every calls act at random moments with the given mean interval, until ctx ends.
func every(ctx context.Context, random *rand.Rand, while time.Duration, act func()) {
	for pause(ctx, time.Duration(random.Float64()*2*float64(while))) {
		act()
	}
}

// pause waits, and returns false if ctx has ended.
func pause(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}

// The mean times between events.
const (
	commitEvery = 250 * time.Millisecond
	faultEvery  = 1500 * time.Millisecond
	faultLasts  = 2 * time.Second // at most
	actEvery    = 250 * time.Millisecond
	configEvery = 2 * time.Second
	stopLasts   = 3 * time.Second
)

// write commits to inputs, and tells a replica of some commits.
func (w *testbed) write(ctx context.Context) {
	random := w.random(whoWrites)
	every(ctx, random, commitEvery, func() {
		a := w.authors[random.IntN(len(w.authors))]
		before := len(a.past)
		what, err := a.step()
		if err != nil {
			w.fail("commit inputs: %v", err)
			return
		}
		w.counts.commits.Add(1)
		if len(a.past) < before {
			w.counts.rewinds.Add(1)
		}
		w.events.say("inputs of %s at %s: %s", filepath.Base(a.remote.dir), a.head(), what)
		if r := w.replicas[random.IntN(len(w.replicas))]; random.IntN(2) == 0 &&
			r.sendWebhook(a.remote, webhookSecret, a.head()) == nil {
			w.counts.webhooks.Add(1)
		}
	})
}

// kill kills and stops replicas, half of the time when one is about to push, and damages their caches. Killed replicas
// are started again soon.
func (w *testbed) kill(ctx context.Context) {
	random := w.random(whoKills)
	every(ctx, random, w.killEvery, func() {
		r := w.replicas[random.IntN(len(w.replicas))]
		r.hold(false)
		if random.IntN(2) == 0 {
			select {
			case <-w.pushes:
			case <-time.After(w.killEvery):
			}
			time.Sleep(time.Duration(random.IntN(40)) * time.Millisecond)
		}
		switch n := random.IntN(20); n {
		case 0:
			w.stopFor(ctx, r, time.Duration(random.Int64N(int64(stopLasts))))
			return
		case 1:
			w.counts.ends.Add(1)
			if _, err := r.end(stopSignal); err != nil {
				w.fail("%v", err)
			}
		default:
			if was, err := r.end(os.Kill); err != nil {
				w.fail("kill replica %d: %v", r.n, err)
			} else if was {
				w.counts.kills.Add(1)
			}
		}
		if random.IntN(10) == 0 {
			w.damage(r, random)
		}
		if err := r.start(); err != nil {
			w.fail("start replica %d: %v", r.n, err)
		}
	})
}

// stopFor stops a process for a while. Everything else goes on.
func (w *testbed) stopFor(ctx context.Context, r *replica, d time.Duration) {
	w.counts.stops.Add(1)
	w.events.say("replica %d stands still for %s", r.n, d)
	r.hold(true)
	context.AfterFunc(ctx, func() { r.hold(false) })
	time.AfterFunc(d, func() { r.hold(false) })
}

// damage damages the cache of a dead replica.
func (w *testbed) damage(r *replica, random *rand.Rand) {
	w.counts.damages.Add(1)
	files := r.kept()
	if len(files) == 0 || random.IntN(4) == 0 {
		w.events.say("replica %d loses its cache", r.n)
		_ = empty(r.cache)
		return
	}
	name := files[random.IntN(len(files))]
	var err error
	switch info, _ := os.Stat(name); random.IntN(3) {
	case 0:
		err = os.Remove(name)
	case 1:
		err = os.Truncate(name, info.Size()/2)
	default:
		err = scribble(name, random)
	}
	w.events.say("replica %d has a damaged cache: %s: %v", r.n, name, err)
}

// scribble changes some bytes in the middle of a file.
func scribble(name string, random *rand.Rand) error {
	data, err := os.ReadFile(name)
	if err != nil || len(data) == 0 {
		return err
	}
	for range 8 {
		data[random.IntN(len(data))] ^= 0x55
	}
	_ = os.Chmod(name, 0o644)
	return os.WriteFile(name, data, 0o644)
}

// empty removes the content of a folder.
func empty(dir string) error {
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		if err := os.RemoveAll(filepath.Join(dir, e.Name())); err != nil {
			return err
		}
	}
	return err
}

// fault makes networks, hooks and disks fail for a while.
func (w *testbed) fault(ctx context.Context) {
	random := w.random(whoFaults)
	every(ctx, random, faultEvery, func() {
		r := w.repos[random.IntN(len(w.repos))]
		lasts := time.Duration(random.Int64N(int64(faultLasts)))
		switch n := random.IntN(10); {
		case n < 2:
			w.counts.rejects.Add(1)
			w.events.say("%s rejects pushes for %s", filepath.Base(r.dir), lasts)
			_ = r.setRejecting(true)
			pause(ctx, lasts)
			_ = r.setRejecting(false)
		case n == 2 && w.disk != "":
			w.fill(ctx, lasts)
		default:
			m := mode(1 + random.IntN(int(delay)))
			w.counts.cuts.Add(1)
			w.events.say("%s %s for %s", filepath.Base(r.dir), m, lasts)
			r.proxy.set(m, random.IntN(20_000))
			pause(ctx, lasts)
			r.proxy.set(pass, 0)
		}
	})
}

// filler is the file that fills the small disk.
const filler = ".filler"

// fill fills the small disk for a while.
func (w *testbed) fill(ctx context.Context, lasts time.Duration) {
	w.counts.fulls.Add(1)
	w.events.say("the disk of replica 0 is full for %s", lasts)
	name := filepath.Join(w.disk, filler)
	file, err := os.Create(name)
	if err != nil {
		return
	}
	for chunk := make([]byte, 64<<10); err == nil; {
		_, err = file.Write(chunk)
	}
	_ = file.Close()
	pause(ctx, lasts)
	_ = os.Remove(name)
}

// configure changes pipeline files.
func (w *testbed) configure(ctx context.Context) {
	random := w.random(whoConfig)
	every(ctx, random, configEvery, func() {
		what, err := w.config.step(random)
		if err != nil {
			w.fail("rewrite a pipeline file: %v", err)
		}
		w.counts.configs.Add(1)
		w.events.say("%s", what)
	})
}

// calm ends all faults.
func (w *testbed) calm() error {
	w.events.say("all faults end")
	for _, r := range w.repos {
		r.proxy.set(pass, 0)
		if err := r.setRejecting(false); err != nil {
			return err
		}
	}
	for _, r := range w.replicas {
		r.hold(false)
		if err := r.start(); err != nil {
			return err
		}
	}
	return w.config.reset()
}
