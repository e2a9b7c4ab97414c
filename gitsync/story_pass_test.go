package gitsync_test

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/rogpeppe/go-internal/diff"

	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/gitsync"
	"github.com/agentry-dev/agentry/gitsync/pipeline"
	"github.com/agentry-dev/agentry/gitsync/repo/transport"
)

// output is the repository of the output branch, and the branch.
func (s *story) output() (*remote, string) {
	url := cmp.Or(s.spec.Output.URL, s.spec.Sources[0].URL)
	return s.remote(strings.TrimPrefix(url, s.host.url+"/")), s.spec.Output.Branch
}

// load reads the pipeline, and starts anew if it has changed.
func (s *story) load() error {
	text, err := os.ReadFile(filepath.Join(s.dir, "pipeline.yaml"))
	if err != nil || s.meant(string(text)) == s.text {
		return err
	}
	s.text = s.meant(string(text))
	s.syncer, err = s.process(s.options)
	return err
}

// process starts a process of the pipeline.
func (s *story) process(options gitsync.Options) (*gitsync.Syncer, error) {
	documents, found := manifest.Documents(manifest.File{Path: "pipeline.yaml", Data: []byte(s.text)})
	var p pipeline.Pipeline
	if len(found) == 0 {
		found = p.Read(documents[0])
	}
	if len(found) > 0 {
		return nil, fmt.Errorf("%v", found)
	}
	s.spec = p.Spec
	syncer, err := gitsync.New(p, gitsync.Credentials{Sources: make([]transport.Auth, len(p.Spec.Sources)),
		Decryption: s.decryption}, options)
	if err == nil {
		s.t.Cleanup(syncer.Close)
	}
	return syncer, err
}

// commitAll commits the folders in which something has changed.
func (s *story) commitAll(out io.Writer) error {
	for _, source := range s.spec.Sources {
		folder := strings.TrimPrefix(source.URL, s.host.url+"/")
		files, err := s.read(folder)
		if err == nil && (s.written[folder] == nil || !maps.Equal(files, s.written[folder])) {
			err = s.commit(out, []string{folder})
		}
		if err != nil {
			return err
		}
	}
	files, err := s.read(branchDir)
	if err != nil || maps.Equal(files, s.written[branchDir]) {
		return err
	}
	remote, branch := s.output()
	byHand := maps.Clone(files)
	for name, e := range files {
		if e == s.written[branchDir][name] {
			byHand[name] = s.branch[name] // with the ids of commits as they are
		}
	}
	s.minute++
	s.name(branchDir, remote.commit(branch, byHand, s.minute, "By hand").String())
	s.written[branchDir] = files
	return nil
}

func (s *story) pass(out io.Writer, args []string) error {
	options := s.options
	flags := flag.NewFlagSet("pass", flag.ContinueOnError)
	flags.BoolVar(&options.DryRun, "dry-run", false, "")
	flags.StringVar(&options.AllowDeletions, "allow-deletions", "", "")
	if err := errors.Join(flags.Parse(args), s.load()); err != nil {
		return err
	}
	err := s.commitAll(out)
	if err != nil {
		return err
	}
	options.AllowDeletions = s.meant(options.AllowDeletions)
	syncer := s.syncer
	if len(args) > 0 {
		if syncer, err = s.process(options); err != nil {
			return err
		}
	}
	remote, branch := s.output()
	fork := remote.fork()
	report, err := syncer.Pass(s.t.Context())
	if err != nil {
		return fmt.Errorf("%s", s.shown(err.Error()))
	}
	if tip := remote.tip(branch); !tip.IsZero() {
		s.name(branchDir, tip.String())
	}
	if report.Commit != "" {
		message, _, _ := strings.Cut(remote.head(branch).Message, "\nAgentry-")
		if err := s.save("message", s.shown(message)); err != nil {
			return err
		}
	}
	before := s.written[branchDir]
	if err := s.write(remote.read(branch)); err != nil {
		return err
	}
	text := s.shown(reportText(report))
	s.report = text
	if report.Difference != nil {
		s.report += report.Difference.Text()
	}
	fmt.Fprint(out, text, changesText(before, s.written[branchDir]))
	return s.replica(options, remote, fork, text)
}

// changedBy is what a replica does not know after a forced push.
var changedBy = regexp.MustCompile(`\tchanged: .*\n`)

// replica makes the pass again with an empty cache, on the branch as it was before, and then once more. It must fail
// without a source that it has never seen.
func (s *story) replica(options gitsync.Options, remote, fork *remote, want string) error {
	options.CacheDir = s.t.TempDir()
	s.host.serve(fork)
	defer s.host.serve(remote)
	isAway := len(s.host.remote) < len(s.remotes)
	for _, what := range []string{"a replica", "a second pass"} {
		syncer, err := s.process(options)
		if err != nil {
			return err
		}
		report, err := syncer.Pass(s.t.Context())
		if isAway && err != nil {
			return nil
		}
		if err != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
		text := s.shown(reportText(report))
		switch {
		case isAway:
			return fmt.Errorf("a replica goes on without a source that it has never seen: %s", text)
		case !maps.Equal(fork.refs, remote.refs):
			return fmt.Errorf("%s makes another commit: %s", what, text)
		case what == "a replica" && changedBy.ReplaceAllString(text, "") != changedBy.ReplaceAllString(want, ""):
			return fmt.Errorf("%s says\n%s", what, diff.Diff("the pass", []byte(want), what, []byte(text)))
		}
	}
	return nil
}

// write puts the output branch into its folder.
func (s *story) write(files tree) error {
	if err := os.RemoveAll(filepath.Join(s.dir, branchDir)); err != nil {
		return err
	}
	for name, e := range files {
		if err := s.save(path.Join(branchDir, name), s.shown(e.text)); err != nil {
			return err
		}
	}
	s.branch = files
	var err error
	s.written[branchDir], err = s.read(branchDir)
	return err
}
