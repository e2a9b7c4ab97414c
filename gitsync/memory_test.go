package gitsync_test

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"path"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/format/packfile"
	"github.com/go-git/go-git/v5/plumbing/format/pktline"
	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/capability"
	"github.com/go-git/go-git/v5/storage/memory"
)

// host serves Git repositories out of memory over smart HTTP, which is much quicker than running git: what it costs is
// what agentry costs. It sends only what a client lacks, and cuts history where it is asked to.
type host struct {
	t   testing.TB
	url string
	// asked counts the commits that clients wanted without their being the value of a ref.
	asked atomic.Int32

	mu     sync.Mutex
	remote map[string]*remote
}

// remote is one repository.
type remote struct {
	host *host
	name string
	url  string

	mu      sync.Mutex
	objects *memory.Storage // its refs are not used
	refs    map[string]plumbing.Hash
	keeps   bool   // it gives a client any commit; otherwise it has lost what no ref needs
	refuse  string // pushes to refs below this are refused
	moving  string // a ref that somebody else moves before every push
	hung    chan struct{}
	broken  func() bool // whether a request fails; nil: none does
}

func newHost(t testing.TB) *host {
	h := &host{t: t, remote: map[string]*remote{}}
	server := httptest.NewServer(h)
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	h.url = server.URL
	return h
}

func (h *host) add(name string) *remote {
	r := &remote{host: h, name: name, url: h.url + "/" + name, objects: memory.NewStorage(),
		refs: map[string]plumbing.Hash{}}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.remote[name] = r
	return r
}

// serve puts a remote under the name of another one, for a pass from the same URL.
func (h *host) serve(r *remote) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.remote[r.name] = r
}

// fork is a copy that shares the objects.
func (r *remote) fork() *remote {
	return &remote{host: r.host, name: r.name, url: r.url, objects: r.objects, refs: maps.Clone(r.refs),
		refuse: r.refuse, keeps: r.keeps}
}

// ServeHTTP implements http.Handler.
func (h *host) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	name, action, _ := strings.Cut(strings.TrimPrefix(req.URL.Path, "/"), "/")
	h.mu.Lock()
	r := h.remote[name]
	h.mu.Unlock()
	if r == nil {
		http.NotFound(w, req)
		return
	}
	if r.hung != nil {
		select {
		case <-r.hung:
		case <-req.Context().Done():
		}
		return
	}
	if r.broken != nil && r.broken() {
		http.Error(w, "broken", http.StatusServiceUnavailable)
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	var out bytes.Buffer
	var err error
	switch action {
	case "info/refs":
		action = req.URL.Query().Get("service")
		if r.moving != "" && action == "git-receive-pack" {
			r.refs[r.moving] = r.note()
		}
		err = r.advertise(&out, action)
		w.Header().Set("Content-Type", "application/x-"+action+"-advertisement")
	case "git-upload-pack":
		err = r.uploadPack(&out, req.Body)
	case "git-receive-pack":
		err = r.receivePack(&out, req.Body)
	}
	if err != nil {
		h.t.Errorf("git server: %s: %v", action, err)
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	_, _ = w.Write(out.Bytes())
}

func (r *remote) advertise(w io.Writer, service string) error {
	adv := packp.NewAdvRefs()
	adv.Prefix = [][]byte{[]byte("# service=" + service), pktline.Flush}
	caps := []capability.Capability{capability.OFSDelta, capability.ReportStatus, capability.Atomic, capability.Shallow}
	if r.keeps {
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

func (r *remote) uploadPack(w io.Writer, body io.Reader) error {
	req := packp.NewUploadPackRequest()
	if err := req.Decode(body); err != nil {
		return err
	}
	for _, want := range req.Wants {
		if slices.Contains(slices.Collect(maps.Values(r.refs)), want) {
			continue
		}
		r.host.asked.Add(1)
		if _, err := object.GetCommit(r.objects, want); err != nil || !r.keeps && !r.reachable(want) {
			return pktline.NewEncoder(w).EncodeString("ERR upload-pack: not our ref " + want.String() + "\n")
		}
	}
	depth, _ := req.Depth.(packp.DepthCommits)
	objects, cut, err := r.wanted(req.Wants, req.Haves, int(depth))
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
func (r *remote) wanted(wants, haves []plumbing.Hash, depth int) (objects, cut []plumbing.Hash, err error) {
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
			case e.Mode == filemode.Dir:
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
func (r *remote) reachable(want plumbing.Hash) bool {
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

// receivePack moves all refs or none.
func (r *remote) receivePack(w io.Writer, body io.Reader) error {
	req := packp.NewReferenceUpdateRequest()
	if err := req.Decode(body); err != nil {
		return err
	}
	if err := packfile.UpdateObjectStorage(r.objects, req.Packfile); err != nil {
		return err
	}
	status, reason := "ok", ""
	for _, c := range req.Commands {
		if r.refs[c.Name.String()] != c.Old {
			status, reason = "failed", "atomic: incorrect old value"
		}
		if r.refuse != "" && strings.HasPrefix(c.Name.String(), r.refuse) {
			status, reason = "failed", "hook declined"
		}
	}
	report := packp.NewReportStatus()
	report.UnpackStatus = "ok"
	for _, c := range req.Commands {
		s := &packp.CommandStatus{ReferenceName: c.Name, Status: "ok"}
		if status != "ok" {
			s.Status = reason
		} else {
			r.refs[c.Name.String()] = c.New
		}
		report.CommandStatuses = append(report.CommandStatuses, s)
	}
	return report.Encode(w)
}

// entry is a file, or another thing that a tree may hold.
type entry struct {
	text string
	mode filemode.FileMode // zero: a plain file
	hash plumbing.Hash     // for a submodule
}

type tree map[string]entry

// plain makes a tree of plain files.
func plain(files map[string]string) tree {
	out := tree{}
	for name, text := range files {
		out[name] = entry{text: text}
	}
	return out
}

func (r *remote) put(kind plumbing.ObjectType, content []byte) plumbing.Hash {
	o := r.objects.NewEncodedObject()
	o.SetType(kind)
	o.SetSize(int64(len(content)))
	w, _ := o.Writer()
	_, _ = w.Write(content)
	h, err := r.objects.SetEncodedObject(o)
	if err != nil {
		r.host.t.Fatal(err)
	}
	return h
}

// tree writes a tree and what is below it.
func (r *remote) tree(files tree) plumbing.Hash {
	below := map[string]tree{}
	var entries []object.TreeEntry
	for name, e := range files {
		dir, rest, nested := strings.Cut(name, "/")
		if nested {
			if below[dir] == nil {
				below[dir] = tree{}
			}
			below[dir][rest] = e
			continue
		}
		if e.mode == 0 {
			e.mode = filemode.Regular
		}
		if e.mode != filemode.Submodule {
			e.hash = r.put(plumbing.BlobObject, []byte(e.text))
		}
		entries = append(entries, object.TreeEntry{Name: name, Mode: e.mode, Hash: e.hash})
	}
	for name, files := range below {
		entries = append(entries, object.TreeEntry{Name: name, Mode: filemode.Dir, Hash: r.tree(files)})
	}
	slices.SortFunc(entries, func(a, b object.TreeEntry) int { return strings.Compare(sortName(a), sortName(b)) })
	var b bytes.Buffer
	for _, e := range entries {
		fmt.Fprintf(&b, "%o %s\x00", uint32(e.Mode), e.Name)
		b.Write(e.Hash[:])
	}
	return r.put(plumbing.TreeObject, b.Bytes())
}

func sortName(e object.TreeEntry) string {
	if e.Mode == filemode.Dir {
		return e.Name + "/"
	}
	return e.Name
}

// testAuthor is who commits in tests.
const testAuthor = "Ann <ann@example.com>"

// commit makes a commit of exactly these files on a branch.
func (r *remote) commit(branch string, files tree, minute int, message string) plumbing.Hash {
	when := time.Date(2026, 1, 2, 3, minute, 0, 0, time.UTC).Unix()
	who := fmt.Sprintf("%s %d +0000", testAuthor, when)
	return r.rawCommit(branch, files, who, who, message)
}

// rawCommit makes a commit whose header lines are given as they are.
func (r *remote) rawCommit(branch string, files tree, author, committer, message string) plumbing.Hash {
	r.mu.Lock()
	defer r.mu.Unlock()
	var b strings.Builder
	fmt.Fprintf(&b, "tree %s\n", r.tree(files))
	if parent, ok := r.refs["refs/heads/"+branch]; ok {
		fmt.Fprintf(&b, "parent %s\n", parent)
	}
	fmt.Fprintf(&b, "author %s\ncommitter %s\n\n%s", author, committer, message)
	h := r.put(plumbing.CommitObject, []byte(b.String()))
	r.refs["refs/heads/"+branch] = h
	return h
}

// note makes a new commit of notes.
func (r *remote) note() plumbing.Hash {
	old := r.refs[r.moving]
	return r.put(plumbing.CommitObject,
		fmt.Appendf(nil, "tree %s\nparent %s\nauthor A <a@b> 1 +0000\ncommitter A <a@b> 1 +0000\n\nnote", r.tree(nil),
			old))
}

// hang lets the remote answer nothing from now on.
func (r *remote) hang(t *testing.T) {
	r.hung = make(chan struct{})
	t.Cleanup(func() { close(r.hung) })
}

func (r *remote) tip(branch string) plumbing.Hash {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.refs["refs/heads/"+branch]
}

func (r *remote) head(branch string) *object.Commit {
	c, err := object.GetCommit(r.objects, r.tip(branch))
	if err != nil {
		r.host.t.Fatal(err)
	}
	return c
}

// read gives all files of a branch; none if there is no branch.
func (r *remote) read(branch string) tree {
	out := tree{}
	if h := r.tip(branch); !h.IsZero() {
		c, err := object.GetCommit(r.objects, h)
		if err != nil {
			r.host.t.Fatal(err)
		}
		r.readTree(out, "", c.TreeHash)
	}
	return out
}

func (r *remote) readTree(out tree, dir string, h plumbing.Hash) {
	t, err := object.GetTree(r.objects, h)
	if err != nil {
		r.host.t.Fatal(err)
	}
	for _, e := range t.Entries {
		name := path.Join(dir, e.Name)
		switch e.Mode {
		case filemode.Dir:
			r.readTree(out, name, e.Hash)
		case filemode.Submodule:
			out[name] = entry{mode: e.Mode, hash: e.Hash}
		default:
			mode := e.Mode
			if mode == filemode.Regular {
				mode = 0
			}
			out[name] = entry{text: r.blob(e.Hash), mode: mode}
		}
	}
}

func (r *remote) blob(h plumbing.Hash) string {
	b, err := object.GetBlob(r.objects, h)
	if err != nil {
		r.host.t.Fatal(err)
	}
	in, err := b.Reader()
	if err != nil {
		r.host.t.Fatal(err)
	}
	text, err := io.ReadAll(in)
	if err != nil {
		r.host.t.Fatal(err)
	}
	return string(text)
}
