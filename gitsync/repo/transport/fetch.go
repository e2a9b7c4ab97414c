package transport

import (
	"bytes"
	"io"
	"net"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/format/pktline"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/capability"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/sideband"
)

// FetchRequest is a request for one pack.
type FetchRequest struct {
	Wants []plumbing.Hash
	// Haves are cached commits that the remote can build on.
	Haves []plumbing.Hash
	// Shallows are the cached commits whose parents are not cached. They are sent only to remotes that support shallow
	// repositories.
	Shallows []plumbing.Hash
	// Depth is the number of commits of history to send; 0 means up to the Haves.
	Depth int
}

// FetchAnswer is a pack that is being received, with its shallow boundaries.
type FetchAnswer struct {
	Shallows   []plumbing.Hash // commits whose parents are not sent
	Unshallows []plumbing.Hash // commits of FetchRequest.Shallows whose parents are sent
	Pack       io.Reader

	wire *errorRecorder
}

// Err returns the error of the remote that ended the pack early. It is nil if the pack was read to its end, or if the
// reader stopped by itself.
func (a *FetchAnswer) Err() error { return a.wire.err }

// Advertisement is the refs and capabilities of a remote.
type Advertisement struct {
	*packp.AdvRefs
}

// Shallow reports whether the remote supports shallow repositories.
func (a Advertisement) Shallow() bool { return a.Capabilities.Supports(capability.Shallow) }

// AnyCommit reports whether the remote also sends commits that are not the value of a ref.
func (a Advertisement) AnyCommit() bool {
	return a.Capabilities.Supports(capability.AllowReachableSHA1InWant) ||
		a.Capabilities.Supports(capability.Capability("allow-any-sha1-in-want"))
}

// Fetch requests a pack. It may be called once in a session, which must stay open until the pack is read. It returns
// the same kinds of errors as [Client.Start].
func (s *Session) Fetch(r FetchRequest) (*FetchAnswer, error) {
	req := s.compose(r)
	var buf bytes.Buffer
	if err := encodeFetch(&buf, req); err != nil {
		return nil, err
	}
	answer, err := s.exchange(net.Buffers{buf.Bytes()})
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
	wire := &errorRecorder{in: in}
	return &FetchAnswer{Shallows: res.Shallows, Unshallows: res.Unshallows, Pack: wire, wire: wire}, nil
}

// compose builds the request. go-git's own fetch omits the shallow lines unless it deepens. Without them the remote
// assumes that the cache has the whole history of the tips, and does not send files that a revert restores.
func (s *Session) compose(r FetchRequest) *packp.UploadPackRequest {
	supported := s.Advertised.Capabilities
	req := packp.NewUploadPackRequest()
	for _, c := range []capability.Capability{
		capability.MultiACKDetailed, // required by Azure DevOps
		capability.Sideband64k, capability.OFSDelta, capability.NoProgress, capability.Shallow,
	} {
		if supported.Supports(c) {
			_ = req.Capabilities.Set(c) // none of these has a value
		}
	}
	if supported.Supports(capability.Agent) {
		_ = req.Capabilities.Set(capability.Agent, capability.DefaultAgent()) // it has one value
	}
	req.Wants, req.Haves = r.Wants, r.Haves
	if s.Advertised.Shallow() {
		req.Shallows = r.Shallows
		req.Depth = packp.DepthCommits(r.Depth)
	}
	return req
}

// encodeFetch writes the whole negotiation at once. One round trip is enough, because it names all Haves and ends
// with "done".
func encodeFetch(w io.Writer, req *packp.UploadPackRequest) error {
	if err := req.UploadRequest.Encode(w); err != nil {
		return err
	}
	if err := req.UploadHaves.Encode(w, false); err != nil {
		return err
	}
	return pktline.NewEncoder(w).EncodeString("done\n")
}

// errorRecorder is a reader that records the remote's error. A stream that ends in the middle of a packet is one too.
type errorRecorder struct {
	in  io.Reader
	err error // never io.EOF
}

// Read implements [io.Reader].
func (r *errorRecorder) Read(p []byte) (int, error) {
	n, err := r.in.Read(p)
	if err != nil && err != io.EOF {
		r.err = err
	}
	return n, err
}
