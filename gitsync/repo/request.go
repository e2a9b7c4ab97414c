package repo

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"slices"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/format/pktline"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/capability"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/sideband"

	"github.com/agentry-dev/agentry/gitsync/repo/object"
	"github.com/agentry-dev/agentry/gitsync/repo/store"
)

const (
	// maxHaves is how many commits of ours a request names.
	maxHaves = 64
	// maxHaveDistance is how far behind a tip they are: a branch that was forced back
	// further is fetched as if it were new.
	maxHaveDistance = 64
)

// want is one request for a pack.
type want struct {
	tips     []Tip
	depth    int   // commits of history; 0: up to what is here
	clone    bool  // say nothing of what is here
	maxBytes int64 // of the pack
}

// request fetches one pack into st. Each session serves one request, so it
// starts another one if the present one is used up.
func (f *fetch) request(st store.Store, w want) (err error) {
	if f.svc == nil {
		if err := f.connect(); err != nil {
			return err
		}
	}
	began := time.Now()
	defer func() { f.repo.observe(OperationFetch, began, err) }()
	defer f.close()
	req := f.compose(w)
	var buf bytes.Buffer
	if err := encodeRequest(&buf, req); err != nil {
		return err
	}
	answer, err := f.svc.exchange(buf.Bytes())
	if err != nil {
		return f.explain(err)
	}
	res := packp.NewUploadPackResponse(req)
	if err := res.Decode(io.NopCloser(answer)); err != nil {
		return f.explain(err)
	}
	if err := f.save(st, req, res, w); err != nil {
		return err
	}
	if w.clone {
		return nil
	}
	return f.repo.load()
}

func (f *fetch) explain(err error) error { return f.svc.explain("fetch", err) }

// compose builds the request. The shallow lines are what go-git's own fetch
// leaves out unless it deepens: without them the remote believes that we hold
// all history behind our tips, and leaves out what a revert brings back.
func (f *fetch) compose(w want) *packp.UploadPackRequest {
	req := packp.NewUploadPackRequest()
	for _, c := range []capability.Capability{
		capability.MultiACKDetailed, // Azure DevOps serves nobody without it.
		capability.Sideband64k, capability.OFSDelta, capability.NoProgress, capability.Shallow,
	} {
		if f.adv.Capabilities.Supports(c) {
			_ = req.Capabilities.Set(c) // none of these takes a value
		}
	}
	if f.adv.Capabilities.Supports(capability.Agent) {
		_ = req.Capabilities.Set(capability.Agent, capability.DefaultAgent()) // takes one value
	}
	for _, t := range w.tips {
		req.Wants = append(req.Wants, t.Value)
	}
	if !w.clone {
		req.Haves = f.repo.haves(w.tips)
	}
	if !req.Capabilities.Supports(capability.Shallow) {
		return req
	}
	if !w.clone {
		req.Shallows = slices.Collect(maps.Keys(f.repo.shallow))
	}
	if w.depth != allHistory || len(req.Shallows) > 0 {
		req.Depth = packp.DepthCommits(w.depth)
	}
	return req
}

// encodeRequest writes the whole negotiation at once: one round trip is enough,
// because we name all that we have and close with "done".
func encodeRequest(w io.Writer, req *packp.UploadPackRequest) error {
	if err := req.UploadRequest.Encode(w); err != nil {
		return err
	}
	if err := req.UploadHaves.Encode(w, false); err != nil {
		return err
	}
	return pktline.NewEncoder(w).EncodeString("done\n")
}

// save stores the answer. The boundaries of history are written before the
// pack: to know one too many only makes later packs larger, to know one too few
// loses objects.
func (f *fetch) save(st store.Store, req *packp.UploadPackRequest, res *packp.UploadPackResponse, w want) error {
	shallow := map[plumbing.Hash]struct{}{}
	for _, h := range slices.Concat(req.Shallows, res.Shallows, f.adv.Shallows) {
		shallow[h] = struct{}{}
	}
	if len(shallow) > len(req.Shallows) {
		if err := st.SetShallow(shallow); err != nil {
			return err
		}
	}
	var in io.Reader = res
	if req.Capabilities.Supports(capability.Sideband64k) {
		in = sideband.NewDemuxer(sideband.Sideband64k, res)
	}
	stream := &wireReader{in: in}
	err := st.Receive(stream, w.maxBytes, f.repo.opts.MaxObjectBytes)
	cut := stream.err != nil || w.clone && errors.Is(err, store.ErrBadPack)
	if err != nil && (cut || f.ctx.Err() != nil) {
		return f.explain(errors.Join(stream.err, err))
	}
	if err != nil {
		return fmt.Errorf("fetch of %s: %w", f.repo.at.normal(), err)
	}
	if len(res.Unshallows) == 0 {
		return nil
	}
	for _, h := range res.Unshallows {
		delete(shallow, h)
	}
	return st.SetShallow(shallow)
}

// wireReader remembers whether it was the remote that failed: an end in the middle of a
// packet is an error of it, too.
type wireReader struct {
	in  io.Reader
	err error // other than io.EOF
}

func (r *wireReader) Read(p []byte) (int, error) {
	n, err := r.in.Read(p)
	if err != nil && err != io.EOF {
		r.err = err
	}
	return n, err
}

// haves lists commits that are here, for the remote to build on: what was fetched of the
// wanted refs before, and ancestors of it at growing distances, in case that a branch was
// rewound and the remote has forgotten its old tip. Of refs that are new to us everything
// may be a beginning. Each have costs the remote time, so there are few.
func (r *Repo) haves(tips []Tip) []plumbing.Hash {
	names := map[string]bool{}
	for _, t := range tips {
		if _, known := r.tips[tipName(t)]; known {
			names[tipName(t)] = true
		}
	}
	rd := r.objects.Reader()
	defer rd.Close()
	seen := map[plumbing.Hash]bool{}
	var out []plumbing.Hash
	for _, name := range slices.Sorted(maps.Keys(r.tips)) {
		if len(names) > 0 && !names[name] {
			continue
		}
		for h := range spaced(rd, r.tips[name]) {
			if !seen[h] && len(out) < maxHaves {
				seen[h] = true
				out = append(out, h)
			}
		}
	}
	return out
}

// spaced yields a commit and its first parents 1, 2, 4, 8, ... steps back, as far as they
// are here.
func spaced(rd *object.Reader, h plumbing.Hash) iter.Seq[plumbing.Hash] {
	return func(yield func(plumbing.Hash) bool) {
		for distance, next := 0, 0; distance <= maxHaveDistance && rd.Has(h); distance++ {
			if distance == next {
				next = max(1, 2*next)
				if !yield(h) {
					return
				}
			}
			c, err := rd.Commit(h)
			if err != nil || len(c.Parents) == 0 {
				return // A have is an offer: to name fewer is no fault.
			}
			h = c.Parents[0]
		}
	}
}
