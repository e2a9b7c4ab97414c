package gitsync_test

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/format/packfile"
	"github.com/go-git/go-git/v5/plumbing/format/pktline"
	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/capability"
)

// modelServer serves the remotes of many histories, one after the other. Other than host
// it sends what is missing only, cuts history where it is asked to, and can forget commits.
type modelServer struct {
	host *host
	// asked counts the commits that were asked for without being the value of a ref.
	asked int
	// away are remotes that do not answer, forgetful those that have lost what no ref needs.
	away, forgetful map[string]bool
}

func newModelServer(t testing.TB) *modelServer {
	s := &modelServer{}
	server := httptest.NewServer(s)
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	s.host = &host{t: t, url: server.URL}
	s.reset()
	return s
}

// reset forgets the remotes of the last history.
func (s *modelServer) reset() {
	s.host.remote, s.away, s.forgetful, s.asked = map[string]*remote{}, map[string]bool{}, map[string]bool{}, 0
}

// ServeHTTP implements http.Handler. There is one client, which asks one thing at a time.
func (s *modelServer) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	name, action, _ := strings.Cut(strings.TrimPrefix(req.URL.Path, "/"), "/")
	r := s.host.remote[name]
	if r == nil || s.away[name] {
		http.Error(w, "away", http.StatusBadGateway)
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	var out bytes.Buffer
	var err error
	switch action {
	case "info/refs":
		action = req.URL.Query().Get("service")
		err = s.advertise(r, &out, action)
		w.Header().Set("Content-Type", "application/x-"+action+"-advertisement")
	case "git-upload-pack":
		err = s.uploadPack(r, &out, req.Body)
	case "git-receive-pack":
		err = r.receivePack(&out, req.Body)
	}
	if err != nil {
		s.host.t.Errorf("git server: %s: %v", action, err)
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	_, _ = w.Write(out.Bytes())
}

func (s *modelServer) advertise(r *remote, w io.Writer, service string) error {
	adv := packp.NewAdvRefs()
	adv.Prefix = [][]byte{[]byte("# service=" + service), pktline.Flush}
	caps := []capability.Capability{capability.OFSDelta, capability.ReportStatus, capability.Atomic, capability.Shallow}
	if !s.forgetful[r.name] {
		caps = append(caps, capability.AllowReachableSHA1InWant)
	}
	for _, c := range caps {
		if err := adv.Capabilities.Set(c); err != nil {
			return err
		}
	}
	for name, value := range r.refs {
		adv.References[name] = value
	}
	return adv.Encode(w)
}

func (s *modelServer) uploadPack(r *remote, w io.Writer, body io.Reader) error {
	req := packp.NewUploadPackRequest()
	if err := req.Decode(body); err != nil {
		return err
	}
	for _, want := range req.Wants {
		if slices.Contains(slices.Collect(maps.Values(r.refs)), want) {
			continue
		}
		s.asked++
		if _, err := object.GetCommit(r.objects, want); err != nil || s.forgetful[r.name] && !reachable(r, want) {
			return pktline.NewEncoder(w).EncodeString("ERR upload-pack: not our ref " + want.String() + "\n")
		}
	}
	depth, _ := req.Depth.(packp.DepthCommits)
	objects, cut, err := wanted(r, req.Wants, req.Haves, int(depth))
	if err != nil {
		return err
	}
	var pack bytes.Buffer
	if _, err := packfile.NewEncoder(&pack, r.objects, false).Encode(objects, 0); err != nil {
		return err
	}
	res := packp.NewUploadPackResponseWithPackfile(req, io.NopCloser(&pack))
	res.Shallows = cut
	return res.Encode(w)
}

// wanted lists the objects of commits that a client lacks, to a depth if that is not zero,
// and the commits at which history is cut.
func wanted(r *remote, wants, haves []plumbing.Hash, depth int) (objects, cut []plumbing.Hash, err error) {
	sent := map[plumbing.Hash]bool{}
	var tree func(h plumbing.Hash, into *[]plumbing.Hash) error
	tree = func(h plumbing.Hash, into *[]plumbing.Hash) error {
		if sent[h] {
			return nil
		}
		sent[h] = true
		*into = append(*into, h)
		t, err := object.GetTree(r.objects, h)
		if err != nil {
			return err
		}
		for _, e := range t.Entries {
			switch {
			case e.Mode.IsFile() && !sent[e.Hash]:
				sent[e.Hash] = true
				*into = append(*into, e.Hash)
			case !e.Mode.IsFile():
				if err := tree(e.Hash, into); err != nil {
					return err
				}
			}
		}
		return nil
	}
	var there []plumbing.Hash // what the client has
	for _, h := range haves {
		c, err := object.GetCommit(r.objects, h)
		if err != nil {
			continue // it was forgotten
		}
		sent[h] = true
		if err := tree(c.TreeHash, &there); err != nil {
			return nil, nil, err
		}
	}
	for level := 1; len(wants) > 0; level++ {
		var next []plumbing.Hash
		for _, h := range wants {
			if sent[h] {
				continue
			}
			c, err := object.GetCommit(r.objects, h)
			if err != nil {
				return nil, nil, fmt.Errorf("commit %s: %w", h, err)
			}
			sent[h] = true
			objects = append(objects, h)
			if err := tree(c.TreeHash, &objects); err != nil {
				return nil, nil, err
			}
			if level == depth && len(c.ParentHashes) > 0 {
				cut = append(cut, h)
				continue
			}
			next = append(next, c.ParentHashes...)
		}
		wants = next
	}
	return objects, cut, nil
}

// reachable tells whether a ref needs the commit.
func reachable(r *remote, want plumbing.Hash) bool {
	queue := slices.Collect(maps.Values(r.refs))
	for seen := map[plumbing.Hash]bool{}; len(queue) > 0; {
		h := queue[0]
		queue = queue[1:]
		if h == want {
			return true
		}
		if c, err := object.GetCommit(r.objects, h); err == nil && !seen[h] {
			queue = append(queue, c.ParentHashes...)
		}
		seen[h] = true
	}
	return false
}
