package transport

import (
	"bytes"
	"io"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/format/pktline"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/capability"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/sideband"
)

// FetchRequest asks for one pack.
type FetchRequest struct {
	Wants []plumbing.Hash
	// Haves are commits that we have, for the remote to build on.
	Haves []plumbing.Hash
	// Shallows are those of our commits whose parents we do not have. Only remotes that support shallow
	// repositories take them.
	Shallows []plumbing.Hash
	// Depth is how many commits of history to send; 0: up to the Haves.
	Depth int
}

// FetchAnswer is a pack that is being received, and the boundaries of history that go with it.
type FetchAnswer struct {
	Shallows   []plumbing.Hash // commits whose parents are not sent
	Unshallows []plumbing.Hash // commits of FetchRequest.Shallows whose parents are sent
	Pack       io.Reader

	wire *wireReader
}

// Err is the error of the remote that ended the pack early: nil if the pack was read to its end, or
// the reader stopped by itself.
func (a *FetchAnswer) Err() error { return a.wire.err }

// Advertisement is the refs of a remote, and what it supports.
type Advertisement struct {
	*packp.AdvRefs
}

// Shallow reports whether the remote supports shallow repositories.
func (a Advertisement) Shallow() bool { return a.Capabilities.Supports(capability.Shallow) }

// AnyCommit reports whether the remote sends commits that are no ref's value.
func (a Advertisement) AnyCommit() bool {
	return a.Capabilities.Supports(capability.AllowReachableSHA1InWant) ||
		a.Capabilities.Supports(capability.Capability("allow-any-sha1-in-want"))
}

// Fetch asks for a pack. It may be called once in a session, which must stay open until the pack was
// read. Errors are as those of [Client.Start].
func (s *Session) Fetch(r FetchRequest) (*FetchAnswer, error) {
	req := s.compose(r)
	var buf bytes.Buffer
	if err := encodeFetch(&buf, req); err != nil {
		return nil, err
	}
	answer, err := s.exchange(buf.Bytes())
	if err != nil {
		return nil, s.Explain("fetch", err)
	}
	res := packp.NewUploadPackResponse(req)
	if err := res.Decode(io.NopCloser(answer)); err != nil {
		return nil, s.Explain("fetch", err)
	}
	var in io.Reader = res
	if req.Capabilities.Supports(capability.Sideband64k) {
		in = sideband.NewDemuxer(sideband.Sideband64k, res)
	}
	wire := &wireReader{in: in}
	return &FetchAnswer{Shallows: res.Shallows, Unshallows: res.Unshallows, Pack: wire, wire: wire}, nil
}

// compose builds the request. go-git's own fetch leaves out the shallow lines unless it deepens.
// Without them the remote believes that we hold all history behind our tips, and does not send what a
// revert brings back.
func (s *Session) compose(r FetchRequest) *packp.UploadPackRequest {
	supported := s.Advertised.Capabilities
	req := packp.NewUploadPackRequest()
	for _, c := range []capability.Capability{
		capability.MultiACKDetailed, // Azure DevOps serves nobody without it.
		capability.Sideband64k, capability.OFSDelta, capability.NoProgress, capability.Shallow,
	} {
		if supported.Supports(c) {
			_ = req.Capabilities.Set(c) // None of these takes a value.
		}
	}
	if supported.Supports(capability.Agent) {
		_ = req.Capabilities.Set(capability.Agent, capability.DefaultAgent()) // It takes one value.
	}
	req.Wants, req.Haves = r.Wants, r.Haves
	if s.Advertised.Shallow() {
		req.Shallows = r.Shallows
		req.Depth = packp.DepthCommits(r.Depth)
	}
	return req
}

// encodeFetch writes the whole negotiation at once: one round trip is enough, because we name all
// that we have and close with "done".
func encodeFetch(w io.Writer, req *packp.UploadPackRequest) error {
	if err := req.UploadRequest.Encode(w); err != nil {
		return err
	}
	if err := req.UploadHaves.Encode(w, false); err != nil {
		return err
	}
	return pktline.NewEncoder(w).EncodeString("done\n")
}

// wireReader remembers whether the remote failed: an end in the middle of a packet is its error, too.
type wireReader struct {
	in  io.Reader
	err error // other than io.EOF
}

// Read implements [io.Reader].
func (r *wireReader) Read(p []byte) (int, error) {
	n, err := r.in.Read(p)
	if err != nil && err != io.EOF {
		r.err = err
	}
	return n, err
}
