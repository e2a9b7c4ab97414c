// Command demo shows agentry end to end on examples/quickstart: a repository goes in, a
// rendered branch comes out, a change of an input is a diff of that branch, a mistake in one
// is held. It needs Go and Git, no network, and leaves nothing behind. Run it with "make
// demo"; KEEP=1 keeps its folder.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
)

// branch is where examples/quickstart/pipeline.yaml writes to.
const branch = "environments/quickstart"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Stdout, os.Getenv("KEEP") != "")
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(1)
	}
}

// run makes the folder, plays the scenes and cleans up.
func run(ctx context.Context, out io.Writer, keep bool) (err error) {
	folder, err := os.MkdirTemp("", "agentry-demo-")
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "Everything happens in %s.\n", folder)
	if keep {
		fmt.Fprintln(out, "KEEP is set: it will stay.")
	} else {
		defer func() {
			if removed := os.RemoveAll(folder); err == nil {
				err = removed
			}
		}()
	}
	s := &stage{ctx: ctx, out: out, folder: folder}
	for _, scene := range []func(*stage) error{prepare, firstPass, secondPass, change, mistake} {
		if err := scene(s); err != nil {
			return err
		}
	}
	if !keep {
		fmt.Fprintf(out, "\nRemoved %s; KEEP=1 make demo keeps it.\n", folder)
	}
	return nil
}

// prepare builds agentry and puts the example into a bare repository.
func prepare(s *stage) error {
	fmt.Fprintln(s.out, "Building agentry; the first time, Go fetches and compiles its modules, for a minute or so.")
	if err := s.quiet(".", "go", "build", "-o", s.path("bin", "agentry"), "./cmd/agentry"); err != nil {
		return err
	}
	s.heading("A repository with custom resources")
	if err := os.CopyFS(s.path("work"), os.DirFS(filepath.Join("examples", "quickstart"))); err != nil {
		return err
	}
	if err := s.pipeline(); err != nil {
		return err
	}
	for _, args := range [][]string{
		{"init", "-q", "-b", "main"}, {"add", "."}, {"commit", "-q", "-m", "Monitor the shop and the search"},
		{"clone", "-q", "--bare", ".", s.path("monitoring.git")}, {"remote", "add", "origin", s.path("monitoring.git")},
	} {
		if err := s.quiet("work", "git", args...); err != nil {
			return err
		}
	}
	return s.show("work", "agentry", "tree", ".")
}

// firstPass renders the repository to a branch of it.
func firstPass(s *stage) error {
	s.heading("One pass: fetch, render, push")
	if err := s.show("work", "agentry", "sync", "-f", s.path("pipeline.yaml")); err != nil {
		return err
	}
	s.heading("The output branch, ready for Flux or Argo CD")
	if err := s.tree(); err != nil {
		return err
	}
	s.heading("The agent's configuration on it (its beginning)")
	return s.head("monitoring/grafana-agent/grafana-agent-config.secret.yaml", 45)
}

// secondPass shows that equal input makes no commit.
func secondPass(s *stage) error {
	s.heading("A second pass has nothing to do")
	return s.show("work", "agentry", "sync", "-f", s.path("pipeline.yaml"))
}

// change edits a ServiceMonitor, and shows what that changes on the branch.
func change(s *stage) error {
	s.heading("A team edits its ServiceMonitor")
	if err := s.edit("team-shop", "interval: 30s", "interval: 2m"); err != nil {
		return err
	}
	if err := s.commit("Scrape the checkout less often"); err != nil {
		return err
	}
	s.heading("The next pass, and its diff of the output branch")
	if err := s.show("work", "agentry", "sync", "-f", s.path("pipeline.yaml")); err != nil {
		return err
	}
	return s.diff()
}

// mistake breaks that ServiceMonitor, and shows that this holds nobody else.
func mistake(s *stage) error {
	s.heading("One team makes a mistake, another a change")
	if err := s.edit("team-shop", "interval: 2m", "interval: 2"); err != nil {
		return err
	}
	if err := s.edit("team-search", "interval: 1m", "interval: 5m"); err != nil {
		return err
	}
	if err := s.commit("Change two intervals"); err != nil {
		return err
	}
	s.heading("The mistake is held, and the change moves on")
	// It exits 1, as long as something is held.
	if err := s.show("work", "agentry", "sync", "-f", s.path("pipeline.yaml")); err == nil {
		return errors.New("agentry sync found no mistake")
	}
	return s.diff()
}
