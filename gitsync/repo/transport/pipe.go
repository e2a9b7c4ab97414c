package transport

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-git/go-git/v5/plumbing/format/pktline"
)

// killDelay is the time that a remote's process has to end after it was told to.
const killDelay = 2 * time.Second

// pipeService is a service at the other end of two pipes: a local git process, or one behind ssh.
type pipeService struct {
	in    io.WriteCloser
	out   *bufio.Reader
	words *tailBuffer
	stop  func() error // ends the process and waits for it

	inOnce    sync.Once // an ssh channel must not be closed twice at once
	asked     bool
	sending   sync.WaitGroup
	closeOnce sync.Once
	closeErr  error
}

func (s *pipeService) advertised() (io.Reader, error) { return s.out, nil }

// exchange writes in a goroutine: the remote may begin to answer before it has read everything, and would block if
// nobody read the answer.
func (s *pipeService) exchange(request net.Buffers) (io.Reader, error) {
	s.asked = true
	s.sending.Go(func() {
		// If a write fails, the response ends early.
		_, _ = io.Copy(s.in, reader(request))
		s.closeIn()
	})
	return s.out, nil
}

// closeIn closes the input of the remote.
func (s *pipeService) closeIn() {
	s.inOnce.Do(func() { _ = s.in.Close() }) // an error is fine: the remote may have closed it
}

func (s *pipeService) stderr() string { return s.words.String() }

// Close ends the remote process. If only the refs were read, it sends a flush packet, after which the process ends by
// itself.
func (s *pipeService) Close() error {
	s.closeOnce.Do(func() {
		if !s.asked {
			_, _ = s.in.Write(pktline.FlushPkt)
		}
		s.closeIn()
		s.closeErr = s.stop()
		s.sending.Wait()
	})
	return s.closeErr
}

// newFileService runs git on the local file system.
func newFileService(ctx context.Context, dir string, program Program, stall *stallTimer) (service, error) {
	if _, err := os.Stat(dir); errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("%w: no such directory", ErrRepositoryNotFound)
	}
	cmd := exec.CommandContext(ctx, "git", strings.TrimPrefix(string(program), "git-"), dir)
	cmd.Env = cleanGitEnv(os.Environ())
	cmd.WaitDelay = killDelay
	stderr := &tailBuffer{}
	cmd.Stderr = stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("run git, which file remotes need: %w", err)
	}
	stop := func() error {
		// Unread output would block the process for ever.
		_ = out.Close()
		_ = cmd.Wait() // the exit status adds no information
		return nil
	}
	return &pipeService{in: stall.writer(in), out: bufio.NewReader(stall.reader(out)), words: stderr, stop: stop}, nil
}

// cleanGitEnv removes variables that point git to another repository, as they do inside a Git hook.
func cleanGitEnv(env []string) []string {
	bound := []string{
		"GIT_DIR=", "GIT_WORK_TREE=", "GIT_INDEX_FILE=", "GIT_OBJECT_DIRECTORY=", "GIT_COMMON_DIR=",
		"GIT_ALTERNATE_OBJECT_DIRECTORIES=", "GIT_NAMESPACE=", "GIT_PROTOCOL=", "GIT_QUARANTINE_PATH=",
		"GIT_PREFIX=", "GIT_PUSH_OPTION_COUNT=",
	}
	out := make([]string, 0, len(env)+1)
	for _, kv := range env {
		if !slices.ContainsFunc(bound, func(name string) bool { return strings.HasPrefix(kv, name) }) {
			out = append(out, kv)
		}
	}
	return append(out, "LC_ALL=C") // kindOf reads git's messages in English
}
