package transport

import (
	"context"
	"fmt"
	"io"
	"net"
	"slices"
	"time"
)

// Session is one run of a program on the remote. It ends with Close, with its caller's context, or when the remote
// stalls.
type Session struct {
	service
	Advertised Advertisement
	// Date is the time of the server, from the header Date of the response with the refs. Only HTTP servers send it.
	Date string

	client *Client
	ctx    context.Context // of the session, whose lifetime this is; see service
	stall  *stallTimer
	end    func()
}

// Start runs a program and reads its refs. The caller must close the session. Errors name the program, wrap an error
// of this package, and contain no secret.
func (c *Client) Start(ctx context.Context, program Program) (*Session, error) {
	ctx, stop := context.WithTimeoutCause(ctx, maxSessionTime,
		fmt.Errorf("the session took longer than %s", maxSessionTime))
	ctx, cancel := context.WithCancelCause(ctx)
	s := &Session{client: c, ctx: ctx, stall: newStallTimer(c.stall, cancel)}
	s.end = func() {
		cancel(nil)
		stop()
	}
	var err error
	if s.service, err = c.open(ctx, program, s.stall); err != nil {
		err = c.explain(ctx, string(program), err, "")
		s.end()
		return nil, err
	}
	if s.Advertised, err = readAdvertisement(s.service); err != nil {
		return nil, s.Explain(string(program), err)
	}
	if overHTTP, ok := s.service.(*httpService); ok {
		s.Date = overHTTP.date
	}
	return s, nil
}

func (c *Client) open(ctx context.Context, program Program, stall *stallTimer) (service, error) {
	switch c.at.scheme {
	case "http", "https":
		return newHTTPService(ctx, c, program, stall), nil
	case "ssh":
		return newSSHService(ctx, c, program, stall)
	}
	return newFileService(ctx, c.at.path, program, stall)
}

// reader reads a request from its beginning. It has no WriteTo, which would write each part by itself.
func reader(request net.Buffers) io.Reader {
	request = slices.Clone(request) // reading consumes it
	return struct{ io.Reader }{&request}
}

// exchange sends a request, and gives the remote more time than for its refs.
func (s *Session) exchange(request net.Buffers) (io.Reader, error) {
	s.stall.relax()
	return s.service.exchange(request)
}

// Explain ends a failed session. It converts err to an error of this package that names the remote, contains its
// messages outside the protocol, and contains no secret.
func (s *Session) Explain(action string, err error) error {
	cause := context.Cause(s.ctx)
	_ = s.close(cause) // first, because messages of the remote can come after the end of its response
	return s.client.explainCause(cause, action, err, s.stderr())
}

// Close ends the session. It gives the remote a moment to end by itself, because a hook can still run after the
// response, and its output can be on its way.
func (s *Session) Close() error { return s.close(context.Cause(s.ctx)) }

func (s *Session) close(cause error) error {
	if cause == nil {
		cutOff := time.AfterFunc(killDelay, s.end)
		defer cutOff.Stop()
	}
	err := s.service.Close()
	s.end()
	return err
}
