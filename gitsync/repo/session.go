package repo

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
)

// session is one run of a service, from its refs to its end. It ends when its caller's
// context does, when the remote does not move, and by Close.
type session struct {
	service
	adv    *packp.AdvRefs
	client *client
	ctx    context.Context // of the session; see service
	dog    *watchdog
	end    func()
}

// start runs a service and reads its refs. The caller closes the session.
func (c *client) start(ctx context.Context, program string) (*session, error) {
	ctx, stop := context.WithTimeoutCause(ctx, maxSessionTime, fmt.Errorf("the session took longer than %s", maxSessionTime))
	ctx, bite := context.WithCancelCause(ctx)
	s := &session{client: c, ctx: ctx, dog: newWatchdog(c.stall, bite)}
	s.end = func() {
		bite(nil)
		stop()
	}
	var err error
	if s.service, err = c.open(ctx, program, s.dog); err != nil {
		err = c.explain(ctx, program, err, "")
		s.end()
		return nil, err
	}
	if s.adv, err = readAdvertisement(s.service); err != nil {
		return nil, s.explain(program, err)
	}
	return s, nil
}

func (c *client) open(ctx context.Context, program string, dog *watchdog) (service, error) {
	switch c.at.scheme {
	case "http", "https":
		return newHTTPService(ctx, c, program, dog), nil
	case "ssh":
		return newSSHService(ctx, c, program, dog)
	}
	return newFileService(ctx, c.at.path, program, dog)
}

// exchange gives the remote more time than it has for its refs.
func (s *session) exchange(request []byte) (io.Reader, error) {
	s.dog.relax()
	return s.service.exchange(request)
}

// explain ends a session that has failed. What the remote said beside the protocol may
// come later than the end of its answer.
func (s *session) explain(action string, err error) error {
	cause := context.Cause(s.ctx)
	_ = s.close(cause) // The first error tells more.
	return s.client.explainCause(cause, action, err, s.complaint())
}

// Close ends the session. The remote is given a moment to end by itself: a hook may be at
// work after the last answer, and its last words may be on the way.
func (s *session) Close() error { return s.close(context.Cause(s.ctx)) }

func (s *session) close(cause error) error {
	if cause == nil {
		cutOff := time.AfterFunc(killDelay, s.end)
		defer cutOff.Stop()
	}
	err := s.service.Close()
	s.end()
	return err
}
