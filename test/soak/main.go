// Command soak runs three replicas of `agentry serve` for 50 pipelines on five remotes. Meanwhile
// authors commit good and bad objects, actors rewrite history and edit output branches, and faults
// happen: processes are killed and stopped, caches are lost, damaged and full, remotes refuse, hang,
// crawl and reset, hooks reject, and pipeline files break.
//
// Then the faults end, and an oracle checks every output branch with the model of test/history: each
// commit of a replica must be what a pass makes of its parent, and a pass over the heads would leave each
// branch as it is. Metadata, lock files and notes must agree. No foreign file may have changed,
// no stale file of agentry be left, and no commit be lost. Replicas that start without caches must find
// nothing to do. At the end all objects are corrected, and nothing may be held.
//
// The same seed makes the same decisions, but the timing differs.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/agentry-dev/agentry/test/isolate"
)

func main() {
	if code, ok := playRole(); ok {
		os.Exit(code)
	}
	os.Exit(isolated(run))
}

// isolated runs main in a mount namespace of its own, so that it can mount a small disk without any rights. If the
// kernel refuses, it runs main without one.
func isolated(main func() int) int {
	if isolate.Inside() {
		return main()
	}
	code, err := isolate.Rerun(isolate.Namespaces{Mounts: true})
	if err != nil {
		fmt.Fprintln(os.Stderr, "no disk will be full:", err)
		return main()
	}
	return code
}

func run() int {
	o := options{remotes: remoteCount, pipelines: pipelinesPerRemote, still: 3 * time.Second, say: func(line string) {
		fmt.Println(line)
	}}
	flag.DurationVar(&o.length, "for", 10*time.Minute, "how long faults last")
	flag.DurationVar(&o.round, "round", 2*time.Minute, "how long until all is checked")
	flag.Uint64Var(&o.seed, "seed", uint64(time.Now().UnixNano()), "of the random numbers")
	flag.DurationVar(&o.killEvery, "kill-every", 300*time.Millisecond, "mean time between two kills")
	flag.StringVar(&o.dir, "dir", "",
		"where repositories, caches and logs go (default: a temporary folder, removed if all is well)")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	fmt.Printf("soak for %s, seed %d\n", o.length, o.seed)
	began := time.Now()
	err := soak(ctx, o)
	fmt.Printf("took %s\n", time.Since(began).Round(time.Second))
	if err != nil {
		fmt.Fprintf(os.Stderr, "FAILED, seed %d: %v\n", o.seed, err)
		return 1
	}
	fmt.Println("every output branch is as it must be, and nothing was lost")
	return 0
}

// options are the settings of a run.
type options struct {
	length, round time.Duration
	seed          uint64
	killEvery     time.Duration
	still         time.Duration // the time without a moved ref that counts as rest: all replicas poll within it
	remotes       int
	pipelines     int    // of each remote
	dir           string // default: a temporary folder, which is removed after a good run
	say           func(string)
}

// soak runs rounds of faults, with a check after each.
func soak(ctx context.Context, o options) error {
	temporary := o.dir == ""
	if temporary {
		var err error
		if o.dir, err = os.MkdirTemp("", "agentry-soak-"); err != nil {
			return err
		}
	}
	err := soakIn(ctx, o)
	if err != nil {
		return fmt.Errorf("%w\nrepositories, caches, logs and events are in %s", err, o.dir)
	}
	if temporary {
		return os.RemoveAll(o.dir)
	}
	return nil
}

func soakIn(ctx context.Context, o options) error {
	w, err := newTestbed(o)
	if err != nil {
		return err
	}
	defer w.close()
	for n, left := 1, o.length; err == nil && left > 0; n++ {
		length := min(o.round, left)
		left -= length
		w.runFaults(ctx, length)
		if err = ctx.Err(); err == nil {
			err = w.check(ctx, left <= 0)
		}
		o.say(fmt.Sprintf("round %d: %s", n, w.counts.String()))
	}
	return errors.Join(err, w.stop(), w.failure())
}
