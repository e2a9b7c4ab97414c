package oci

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-containerregistry/pkg/registry"

	"github.com/agentry-dev/agentry/gitsync"
	"github.com/agentry-dev/agentry/gitsync/fleet"
	"github.com/agentry-dev/agentry/gitsync/pipeline"
	"github.com/agentry-dev/agentry/gitsync/repo"
	"github.com/agentry-dev/agentry/gitsync/repo/object"
	"github.com/agentry-dev/agentry/gitsync/repo/transport"
	"github.com/agentry-dev/agentry/internal/pipelinefile"
	"github.com/agentry-dev/agentry/test/gittest"
)

const (
	input    = "6dcb09b5b57875f334f61aebed695e2e4193db5e"
	metadata = `{"repoURL": "https://git.example.com/platform/monitoring", "drySha": "` + input +
		`", "date": "2026-03-04T05:06:07+02:00"}`
)

// hub is a registry with TLS and a password, which counts what is sent to it.
type hub struct {
	*httptest.Server
	ca     []byte
	secret pipelinefile.RegistrySecret
	mu     sync.Mutex
	writes []string
}

func newHub(t *testing.T) *hub {
	t.Helper()
	h := &hub{secret: pipelinefile.RegistrySecret{Username: "robot", Password: "s3cret"}}
	inner := registry.New(registry.Logger(log.New(io.Discard, "", 0)))
	h.Server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		user, password, _ := req.BasicAuth()
		if user != "robot" || password != "s3cret" {
			w.Header().Set("WWW-Authenticate", `Basic realm="registry"`)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		if req.Method != http.MethodGet && req.Method != http.MethodHead {
			h.mu.Lock()
			h.writes = append(h.writes, req.Method+" "+req.URL.Path)
			h.mu.Unlock()
		}
		inner.ServeHTTP(w, req)
	}))
	t.Cleanup(h.Close)
	h.ca = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: h.Certificate().Raw})
	h.secret.CAPEM = h.ca
	return h
}

func (h *hub) place() pipeline.OCI {
	return pipeline.OCI{URL: Scheme + strings.TrimPrefix(h.URL, "https://") + "/clusters/prod-eu"}
}

// get reads from the registry without the library that wrote.
func (h *hub) get(t *testing.T, path, accept string) ([]byte, http.Header) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, h.URL+"/v2/clusters/prod-eu/"+path, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	req.SetBasicAuth("robot", "s3cret")
	req.Header.Set("Accept", accept)
	resp, err := h.Client().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s %v", path, resp.Status, err)
	}
	return body, resp.Header
}

func (h *hub) take() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	n := len(h.writes)
	h.writes = nil
	return n
}

// manifest has the parts of an OCI manifest that Flux reads.
type manifest struct {
	SchemaVersion int               `json:"schemaVersion"`
	MediaType     string            `json:"mediaType"`
	Config        descriptor        `json:"config"`
	Layers        []descriptor      `json:"layers"`
	Annotations   map[string]string `json:"annotations"`
}

type descriptor struct {
	MediaType string `json:"mediaType"`
	Digest    string `json:"digest"`
	Size      int    `json:"size"`
}

func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// branch makes an output repository with one commit, and returns its reader.
func branch(t *testing.T, files map[string]string) (*gittest.Repo, *object.Reader, plumbing.Hash) {
	t.Helper()
	g := gittest.NewRepo(t)
	commit := g.Commit("env/prod", files)
	r, err := repo.Open(t.TempDir(), transport.Remote{URL: g.Dir}, repo.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	if _, err := r.Fetch(t.Context(), repo.Ref{Branch: "env/prod"}); err != nil {
		t.Fatal(err)
	}
	rd := r.Reader()
	t.Cleanup(rd.Close)
	return g, rd, plumbing.NewHash(commit)
}

func TestArtifactIsWhatAnOCIRepositoryTakes(t *testing.T) {
	h := newHub(t)
	g, _, _ := branch(t, map[string]string{"README.md": "not below the path\n"})
	commit := g.Commit("env/prod", map[string]string{
		"clusters/prod/hydrator.metadata": metadata, "clusters/prod/kustomization.yaml": "resources: [a]\n",
		"clusters/prod/a/x.yaml": "kind: Secret\n", "clusters/prod/a/.agentry/inventory": "{}\n",
		"clusters/prod/a.b/y.yaml": "y\n", "clusters/prod/empty": "!",
	})
	rd := reread(t, g)
	a, err := Build(rd, plumbing.NewHash(commit), "clusters/prod", "main")
	if err != nil {
		t.Fatal(err)
	}
	pushed, err := Push(t.Context(), a, h.place(), h.secret)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{input, "latest"}, pushed.Tags); diff != "" {
		t.Errorf("tags (-want +got):\n%s", diff)
	}

	raw, header := h.get(t, "manifests/latest", "application/vnd.oci.image.manifest.v1+json")
	if byInput, _ := h.get(t, "manifests/"+input, "*/*"); !bytes.Equal(raw, byInput) || digest(raw) != pushed.Digest {
		t.Errorf("the tags differ, or the digest is not %s", pushed.Digest)
	}
	var m manifest
	if err := json.Unmarshal(raw, &m); err != nil {
		t.Fatal(err)
	}
	if got := header.Get("Content-Type"); got != "application/vnd.oci.image.manifest.v1+json" || m.MediaType != got ||
		m.SchemaVersion != 2 {
		t.Errorf("the manifest is %s, %s", got, m.MediaType)
	}
	if m.Config.MediaType != "application/vnd.cncf.flux.config.v1+json" || len(m.Layers) != 1 ||
		m.Layers[0].MediaType != "application/vnd.cncf.flux.content.v1.tar+gzip" {
		t.Errorf("media types: %+v", m)
	}
	want := map[string]string{
		"org.opencontainers.image.created":  "2026-03-04T03:06:07Z",
		"org.opencontainers.image.source":   "https://git.example.com/platform/monitoring",
		"org.opencontainers.image.revision": "main@sha1:" + input,
	}
	if diff := cmp.Diff(want, m.Annotations); diff != "" {
		t.Errorf("annotations (-want +got):\n%s", diff)
	}
	config, _ := h.get(t, "blobs/"+m.Config.Digest, "*/*")
	layer, _ := h.get(t, "blobs/"+m.Layers[0].Digest, "*/*")
	if digest(config) != m.Config.Digest || digest(layer) != m.Layers[0].Digest || len(layer) != m.Layers[0].Size {
		t.Error("the blobs are not those that the manifest names")
	}
	checkLayer(t, layer)
}

// checkLayer unpacks a layer as Flux does.
func checkLayer(t *testing.T, layer []byte) {
	t.Helper()
	zip, err := gzip.NewReader(bytes.NewReader(layer))
	if err != nil {
		t.Fatal(err)
	}
	if !zip.ModTime.IsZero() || zip.Name != "" || zip.Comment != "" {
		t.Errorf("the header of gzip says %+v", zip.Header)
	}
	got := map[string]string{}
	var order []string
	for r := tar.NewReader(zip); ; {
		f, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		if f.Uid != 0 || f.Gid != 0 || f.Uname != "" || f.Gname != "" || f.ModTime.Unix() != 0 {
			t.Errorf("%s: %+v", f.Name, f)
		}
		order = append(order, f.Name)
		got[f.Name] = fmt.Sprintf("%o %s", f.Mode, data)
	}
	want := map[string]string{
		"hydrator.metadata": "644 " + metadata, "kustomization.yaml": "644 resources: [a]\n", "empty": "644 ",
		"a/": "755 ", "a/x.yaml": "644 kind: Secret\n", "a/.agentry/": "755 ", "a/.agentry/inventory": "644 {}\n",
		"a.b/": "755 ", "a.b/y.yaml": "644 y\n",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	if slices.Index(order, "a/") > slices.Index(order, "a/x.yaml") {
		t.Errorf("order %q", order)
	}
}

// reread opens the repository with a cache of its own.
func reread(t *testing.T, g *gittest.Repo) *object.Reader {
	t.Helper()
	r, err := repo.Open(t.TempDir(), transport.Remote{URL: g.Dir}, repo.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	if _, err := r.Fetch(t.Context(), repo.Ref{Branch: "env/prod"}); err != nil {
		t.Fatal(err)
	}
	rd := r.Reader()
	t.Cleanup(rd.Close)
	return rd
}

func TestTheSameCommitIsTheSameDigestAndIsSentOnce(t *testing.T) {
	h := newHub(t)
	g, rd, commit := branch(t, map[string]string{"hydrator.metadata": metadata, "a.yaml": "a\n"})
	var digests []string
	for _, reader := range []*object.Reader{rd, reread(t, g)} {
		a, err := Build(reader, commit, "", "main")
		if err != nil {
			t.Fatal(err)
		}
		pushed, err := Push(t.Context(), a, h.place(), h.secret)
		if err != nil {
			t.Fatal(err)
		}
		digests = append(digests, pushed.Digest)
		if writes := h.take(); (len(digests) == 1) != (writes > 0) || (len(pushed.Tags) > 0) != (writes > 0) {
			t.Errorf("push %d: %d requests that write, tags %q", len(digests), writes, pushed.Tags)
		}
	}
	if digests[0] != digests[1] {
		t.Errorf("digests %q", digests)
	}
	// The digest does not depend on the date. A new version of Go may compress differently: then artifacts get new
	// digests once, and this value changes.
	const known = "sha256:74aa1298248d844c424f9f49f6be95e123a9dac189eb7292a654b988d881d514"
	if digests[0] != known {
		t.Errorf("digest %s, want %s", digests[0], known)
	}
}

func TestTheTagOfAnInputCommitIsNotMoved(t *testing.T) {
	h := newHub(t)
	g, rd, first := branch(t, map[string]string{"hydrator.metadata": metadata, "a.yaml": "a\n"})
	second := plumbing.NewHash(g.Commit("env/prod", map[string]string{"a.yaml": "rendered by another version\n"}))
	push := func(rd *object.Reader, commit plumbing.Hash) []string {
		t.Helper()
		a, err := Build(rd, commit, "", "main")
		if err != nil {
			t.Fatal(err)
		}
		pushed, err := Push(t.Context(), a, h.place(), h.secret)
		if err != nil {
			t.Fatal(err)
		}
		return pushed.Tags
	}
	both := reread(t, g)
	got := [][]string{push(rd, first), push(both, second), push(both, first), push(both, second)}
	want := [][]string{{input, "latest"}, {input + "-" + second.String()[:12], "latest"}, {"latest"}, {"latest"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("tags (-want +got):\n%s", diff)
	}
}

func TestWhatCannotBeAnArtifact(t *testing.T) {
	for name, test := range map[string]struct {
		files map[string]string
		path  string
		want  string
	}{
		"no metadata":              {map[string]string{"a": "a\n"}, "", "hydrator.metadata"},
		"metadata that is no JSON": {map[string]string{"hydrator.metadata": "no\n"}, "", "invalid character"},
		"metadata without a commit": {map[string]string{"hydrator.metadata": `{"drySha": "main"}`}, "",
			"drySha is not a commit id"},
		"a path that is not there": {map[string]string{"a": "a\n"}, "b", "b"},
	} {
		t.Run(name, func(t *testing.T) {
			_, rd, commit := branch(t, test.files)
			if _, err := Build(rd, commit, test.path, "main"); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestArtifactsHaveASize(t *testing.T) {
	_, rd, commit := branch(t, map[string]string{"d/a": "12345", "d/b": "12345"})
	c, err := rd.Commit(commit)
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		bytes int64
		files int
		want  error
	}{{10, 3, nil}, {9, 3, ErrTooLarge}, {5, 3, ErrTooLarge}, {10, 2, ErrTooLarge}} {
		a := &archiver{reader: rd, tar: tar.NewWriter(io.Discard), bytes: test.bytes, files: test.files}
		if err := a.folder(c.Tree, "", 0); !errors.Is(err, test.want) {
			t.Errorf("%d bytes, %d entries: %v", test.bytes, test.files, err)
		}
	}
}

func TestErrorsOfARegistryShowNoPassword(t *testing.T) {
	h := newHub(t)
	_, rd, commit := branch(t, map[string]string{"hydrator.metadata": metadata})
	a, err := Build(rd, commit, "", "main")
	if err != nil {
		t.Fatal(err)
	}
	echo := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprintf(w, `{"errors": [{"code": "X", "message": "wr0ng %s"}]}`, strings.Repeat("x", 10000))
	}))
	t.Cleanup(echo.Close)
	plain := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, req *http.Request) {
		t.Errorf("%s without TLS, credentials: %t", req.URL.Path, req.Header.Get("Authorization") != "")
	}))
	t.Cleanup(plain.Close)
	at := func(s *httptest.Server) pipeline.OCI {
		_, host, _ := strings.Cut(s.URL, "://")
		return pipeline.OCI{URL: Scheme + host + "/clusters/prod-eu"}
	}
	ca := func(s *httptest.Server) []byte {
		return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
	}
	for name, test := range map[string]struct {
		to     pipeline.OCI
		secret pipelinefile.RegistrySecret
		want   string
	}{
		"a wrong password": {h.place(),
			pipelinefile.RegistrySecret{Username: "robot", Password: "wr0ng", CAPEM: h.ca}, "401"},
		"another CA": {h.place(), pipelinefile.RegistrySecret{Username: "robot", Password: "wr0ng"},
			"certificate"},
		"an answer with secrets": {at(echo),
			pipelinefile.RegistrySecret{Username: "robot", Password: "wr0ng", CAPEM: ca(echo)}, "X: ***"},
		"a server without TLS": {at(plain), pipelinefile.RegistrySecret{Username: "robot", Password: "wr0ng"},
			"without TLS"},
		"a place that is none": {pipeline.OCI{URL: "oci://UPPER"}, pipelinefile.RegistrySecret{Password: "wr0ng"},
			"oci://HOST/PATH"},
		"a CA that is none": {h.place(), pipelinefile.RegistrySecret{Password: "wr0ng", CAPEM: []byte("x")},
			"no PEM certificate"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Push(t.Context(), a, test.to, test.secret)
			if err == nil || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "wr0ng") ||
				len(err.Error()) > 700 {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestInsecureRegistriesAreAskedWithoutTLS(t *testing.T) {
	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	t.Cleanup(server.Close)
	_, rd, commit := branch(t, map[string]string{"hydrator.metadata": metadata})
	a, err := Build(rd, commit, "", "main")
	if err != nil {
		t.Fatal(err)
	}
	to := pipeline.OCI{URL: Scheme + strings.TrimPrefix(server.URL, "http://") + "/x/y", Insecure: true, Tag: "stable"}
	if pushed, err := Push(t.Context(), a, to, pipelinefile.RegistrySecret{}); err != nil ||
		!slices.Contains(pushed.Tags, "stable") {
		t.Errorf("%v, %v", pushed, err)
	}
}

func TestTheObserverPushesWhenTheBranchHasMoved(t *testing.T) {
	h := newHub(t)
	g, _, first := branch(t, map[string]string{"hydrator.metadata": metadata, "a.yaml": "a\n"})
	second := g.Commit("env/prod", map[string]string{"a.yaml": "b\n"})
	pool := repo.NewPool(t.TempDir(), repo.Options{})
	t.Cleanup(pool.Close)
	d := &fleet.Definition{Credentials: func() (gitsync.Credentials, error) { return gitsync.Credentials{}, nil }}
	d.Metadata.Name = "prod-eu"
	place := h.place()
	d.Spec.Sources = []pipeline.Source{{URL: "https://git.example.com/in", Ref: pipeline.Ref{Branch: "main"}}}
	d.Spec.Output = pipeline.Output{URL: g.Dir, Branch: "env/prod", OCI: &place}
	o := New(Options{Pool: pool, Secrets: func(*fleet.Definition) (*pipelinefile.Secrets, error) {
		return &pipelinefile.Secrets{OCI: h.secret}, nil
	}})
	pass := func(commit string, change func(*fleet.Outcome)) {
		out := fleet.Outcome{Definition: d, Report: &gitsync.Report{},
			After: fleet.Status{Name: "prod-eu", Owned: true, Output: &fleet.OutputStatus{Commit: commit}}}
		out.Began = out.Began.AddDate(1, 0, 0)
		if change != nil {
			change(&out)
		}
		o.Passed(t.Context(), out)
	}
	pass(first.String(), func(out *fleet.Outcome) { out.After.Owned = false })
	pass(first.String(), func(out *fleet.Outcome) { out.Err = errors.New("unreachable") })
	pass("", nil)
	if s := o.Stats(); s.Waiting != 0 {
		t.Errorf("%+v before the branch has moved", s)
	}
	pass(first.String(), nil)
	pass(first.String(), nil)
	pass(second, nil)
	if s := o.Stats(); s.Waiting != 1 {
		t.Errorf("%+v: the newest is enough", s)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := o.Run(ctx); err != nil {
		t.Error(err)
	}
	if s := o.Stats(); s.Done != 1 {
		t.Errorf("%+v", s)
	}
	raw, _ := h.get(t, "manifests/latest", "*/*")
	a, err := Build(reread(t, g), plumbing.NewHash(second), "", "main")
	if err != nil {
		t.Fatal(err)
	}
	if want, err := a.Digest(); err != nil || digest(raw) != want.String() {
		t.Errorf("latest is %s, want %s, %v", digest(raw), want, err)
	}
}
