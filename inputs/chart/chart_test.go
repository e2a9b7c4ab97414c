package chart

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/agentry-dev/agentry/inputs/helm"
	"github.com/agentry-dev/agentry/internal/httpclient"
)

// pack makes an archive with exactly these names.
func pack(t *testing.T, files ...helm.File) []byte {
	t.Helper()
	var out bytes.Buffer
	zip := gzip.NewWriter(&out)
	w := tar.NewWriter(zip)
	for _, f := range files {
		if err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: f.Name, Size: int64(len(f.Data)),
			Mode: 0o644}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(f.Data); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := zip.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func shop(t *testing.T, version string) []byte {
	t.Helper()
	return pack(t, helm.File{Name: "shop/Chart.yaml",
		Data: []byte("apiVersion: v2\nname: shop\nversion: " + version + "\n")})
}

// server is a repository over HTTP: paths and what they answer.
type server struct {
	*httptest.Server
	answers map[string]http.HandlerFunc
	mu      sync.Mutex
	asked   []string
}

func newServer(t *testing.T) *server {
	t.Helper()
	s := &server{answers: map[string]http.HandlerFunc{}}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		user, password, _ := req.BasicAuth()
		s.mu.Lock()
		s.asked = append(s.asked, strings.TrimSpace(req.URL.Path+" "+user+password))
		s.mu.Unlock()
		if answer := s.answers[req.URL.Path]; answer != nil {
			answer(w, req)
			return
		}
		http.NotFound(w, req)
	}))
	t.Cleanup(s.Close)
	return s
}

func text(data []byte) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(data) } // the client may stop reading
}

// index offers versions of the chart shop, with their digests unless these are empty.
func (s *server) index(versions map[string]string) {
	var out strings.Builder
	out.WriteString("apiVersion: v1\nentries:\n  shop:\n")
	for version, digest := range versions {
		fmt.Fprintf(&out, "  - version: %s\n    urls: [shop-%s.tgz]\n    digest: %q\n", version, version,
			strings.TrimPrefix(digest, algorithm))
	}
	s.answers["/index.yaml"] = text([]byte(out.String()))
}

// get fetches a pinned chart and unpacks it.
func get(ctx context.Context, store *Store, of Request, pin Pin) ([]helm.File, error) {
	if err := store.Fetch(ctx, of, pin); err != nil {
		return nil, err
	}
	archive, _ := store.cached(of, pin)
	return Unpack(archive)
}

func robot() Access { return Access{Username: "robot", Password: "s3cret"} }

func newStore(t *testing.T) *Store {
	t.Helper()
	return NewStore(Options{Folder: filepath.Join(t.TempDir(), "charts"), Timeout: time.Minute, Fresh: time.Nanosecond})
}

func TestAVersionIsResolvedAndPinned(t *testing.T) {
	s, store := newServer(t), newStore(t)
	one, two := shop(t, "1.2.0"), shop(t, "1.10.0")
	s.index(map[string]string{"1.2.0": digestOf(one), "1.10.0": "", "2.0.0-rc.1": digestOf(one)})
	s.answers["/shop-1.2.0.tgz"], s.answers["/shop-1.10.0.tgz"] = text(one), text(two)
	of := Request{Source: Source{URL: s.URL, Name: "shop", Version: "1.x"}, Access: robot()}

	pin, err := store.Resolve(t.Context(), of, Pin{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(Pin{"1.10.0", digestOf(two)}, pin); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, asked := range s.asked {
		if !strings.HasSuffix(asked, " robots3cret") {
			t.Errorf("asked without the credential: %s", asked)
		}
	}
	s.Close() // now the cache answers
	files, err := get(t.Context(), store, of, pin)
	if err != nil || len(files) != 1 || files[0].Name != "Chart.yaml" {
		t.Errorf("got %v %v", files, err)
	}
	if err := os.WriteFile(store.file(of, pin), []byte("damaged"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := get(t.Context(), store, of, pin); err == nil {
		t.Error("a damaged cache is believed")
	}
}

func TestVersions(t *testing.T) {
	all := []string{"1.0.0", "v2.0.0", "2.1.0+b", "2.1.0+a", "3.0.0-rc.1", "latest"}
	for wanted, want := range map[string]string{
		"": "2.1.0+b", "*": "2.1.0+b", "1.x": "1.0.0", "2.0.0": "v2.0.0", ">=3.0.0-0": "3.0.0-rc.1",
		"2.1.0+a": "2.1.0+a", "latest": "latest",
		"9.x": "", "no range": "",
	} {
		got, err := choose(all, wanted)
		if got != want || (err == nil) != (want != "") {
			t.Errorf("%q: got %q %v", wanted, got, err)
		}
	}
}

func TestServersThatFailOrLie(t *testing.T) {
	chart := shop(t, "1.0.0")
	lying := digestOf([]byte("another"))
	for name, c := range map[string]struct {
		change func(*server)
		want   string
	}{
		"no index": {func(s *server) { delete(s.answers, "/index.yaml") }, "answers 404"},
		"an index that is no index": {func(s *server) {
			s.answers["/index.yaml"] = text([]byte("<html>s3cret"))
		}, "is not the index"},
		"no such chart": {func(s *server) {
			s.answers["/index.yaml"] = text([]byte("entries: {}"))
		}, "has no such chart"},
		"no such version": {func(s *server) { s.index(map[string]string{"2.0.0": ""}) }, "has no version"},
		"another digest": {func(s *server) {
			s.index(map[string]string{"1.0.0": lying})
		}, "now has a different archive for version 1.0.0"},
		"a digest of letters": {func(s *server) {
			s.index(map[string]string{"1.0.0": "../../../etc/passwd"})
		}, "digest of version 1.0.0"},
		"a truncated answer": {func(s *server) {
			s.answers["/shop-1.0.0.tgz"] = func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Length", "1000000")
				_, _ = w.Write(chart)
			}
		}, "unexpected EOF"},
		"an endless answer": {func(s *server) {
			s.answers["/shop-1.0.0.tgz"] = func(w http.ResponseWriter, _ *http.Request) {
				for block := make([]byte, 1<<20); ; {
					if _, err := w.Write(block); err != nil {
						return
					}
				}
			}
		}, "too large"},
		"a slow answer": {func(s *server) {
			s.answers["/shop-1.0.0.tgz"] = func(w http.ResponseWriter, req *http.Request) {
				w.WriteHeader(http.StatusOK)
				w.(http.Flusher).Flush()
				<-req.Context().Done()
			}
		}, "takes longer than 1s"},
		"an error that repeats the password": {func(s *server) {
			s.answers["/shop-1.0.0.tgz"] = func(w http.ResponseWriter, req *http.Request) {
				http.Redirect(w, req, "s3cret://"+"s3cret", http.StatusFound)
			}
		}, ""},
		"an address of a file": {func(s *server) {
			s.answers["/index.yaml"] = text([]byte("entries: {shop: [{version: 1.0.0, urls: ['file:///etc/passwd']}]}"))
		}, "not a plain http or https URL"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newServer(t)
			s.index(map[string]string{"1.0.0": digestOf(chart)})
			s.answers["/shop-1.0.0.tgz"] = text(chart)
			c.change(s)
			store := newStore(t)
			if name == "a slow answer" {
				store.opts.Timeout = time.Second
			}
			of := Request{Source: Source{URL: s.URL, Name: "shop", Version: "1.0.0"}, Access: robot()}
			_, err := store.Resolve(t.Context(), of, Pin{})
			if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "s3cret") ||
				!strings.HasPrefix(err.Error(), "chart shop of http://127.0.0.1:") {
				t.Errorf("got %v", err)
			}
			if kept, err := os.ReadDir(store.opts.Folder); err == nil && len(kept) > 0 && c.want != "" {
				t.Errorf("kept %v", kept)
			}
		})
	}
}

// TestARegistryThatDoesNotAnswer is named with the limit.
func TestARegistryThatDoesNotAnswer(t *testing.T) {
	quit := make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-quit }))
	t.Cleanup(func() {
		close(quit)
		s.Close()
	})
	store := newStore(t)
	store.opts.Timeout = 100 * time.Millisecond
	at := strings.Replace(s.URL, "http://", Scheme, 1) + "/shop"
	_, err := store.Resolve(t.Context(), Request{Source: Source{URL: at, Version: "1.0.0", Insecure: true}}, Pin{})
	if want := "chart " + at + ": the server takes longer than 100ms"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

func TestAPinnedVersionThatChanged(t *testing.T) {
	s, store := newServer(t), newStore(t)
	s.index(map[string]string{"1.0.0": ""})
	s.answers["/shop-1.0.0.tgz"] = text(shop(t, "1.0.1"))
	_, err := get(t.Context(), store, Request{Source: Source{URL: s.URL, Name: "shop", Version: "1.x"}},
		Pin{"1.0.0", digestOf(shop(t, "1.0.0"))})
	if err == nil || !strings.Contains(err.Error(), "now has a different archive for version 1.0.0") {
		t.Errorf("got %v", err)
	}
}

func TestWhereASiteMayLead(t *testing.T) {
	chart := shop(t, "1.0.0")
	elsewhere := newServer(t)
	elsewhere.answers["/shop.tgz"] = text(chart)
	s := newServer(t)
	s.index(map[string]string{"1.0.0": ""})
	s.answers["/shop-1.0.0.tgz"] = func(w http.ResponseWriter, req *http.Request) {
		http.Redirect(w, req, elsewhere.URL+"/shop.tgz", http.StatusFound)
	}
	of := Request{Source: Source{URL: s.URL, Name: "shop"}, Access: robot()}
	store := newStore(t)
	if _, err := store.Resolve(t.Context(), of, Pin{}); err != nil {
		t.Errorf("a site that is not public leads to another: %v", err)
	}
	if diff := cmp.Diff([]string{"/shop.tgz"}, elsewhere.asked); diff != "" {
		t.Errorf("the credential goes elsewhere (-want +got):\n%s", diff)
	}
	store = newStore(t)
	store.lookup = func(context.Context, string, string) ([]netip.Addr, error) {
		return []netip.Addr{netip.MustParseAddr("203.0.113.7")}, nil
	}
	if _, err := store.Resolve(t.Context(), of, Pin{}); !errors.Is(err, httpclient.ErrNotPublic) {
		t.Errorf("a public site leads to this machine: %v", err)
	}
}

// TestTheLimitOfTimeIsTheOneThatApplied: a server that does not begin its answer is not given as long as an answer.
func TestTheLimitOfTimeIsTheOneThatApplied(t *testing.T) {
	s := newServer(t)
	s.answers["/shop.tgz"] = func(_ http.ResponseWriter, req *http.Request) { <-req.Context().Done() }
	client := &http.Client{Transport: &http.Transport{ResponseHeaderTimeout: time.Millisecond}, Timeout: time.Minute}
	_, err := download(t.Context(), client, s.URL+"/shop.tgz")
	if err == nil || !strings.HasSuffix(err.Error(), "does not begin its answer within 30s") {
		t.Error(err)
	}
}

// hub is a registry with TLS and a password.
func hub(t *testing.T) (*httptest.Server, Request) {
	t.Helper()
	inner := registry.New(registry.Logger(log.New(io.Discard, "", 0)))
	s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if user, password, _ := req.BasicAuth(); user != "robot" || password != "s3cret" {
			w.Header().Set("WWW-Authenticate", `Basic realm="registry"`)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		inner.ServeHTTP(w, req)
	}))
	t.Cleanup(s.Close)
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
	as := robot()
	as.Connection.CAPEM = ca
	return s, Request{Source: Source{URL: Scheme + strings.TrimPrefix(s.URL, "https://") + "/charts/shop"},
		Access: as}
}

// push puts a chart into a registry, as Helm does, and returns the manifest's digest.
func push(t *testing.T, s *httptest.Server, of Request, tag string, archive []byte) string {
	t.Helper()
	return pushWith(t, s, of, tag, archive, []byte("signature"))
}

// pushWith also stores a provenance file.
func pushWith(t *testing.T, s *httptest.Server, of Request, tag string, archive, provenance []byte) string {
	t.Helper()
	image, err := mutate.AppendLayers(mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1),
		"application/vnd.cncf.helm.config.v1+json"),
		static.NewLayer(provenance, provenanceMediaType), static.NewLayer(archive, chartMediaType))
	if err != nil {
		t.Fatal(err)
	}
	at, err := name.ParseReference(strings.TrimPrefix(of.URL, Scheme) + ":" + tag)
	if err != nil {
		t.Fatal(err)
	}
	auth := authn.FromConfig(authn.AuthConfig{Username: of.Username, Password: of.Password})
	if err := remote.Write(at, image, remote.WithTransport(s.Client().Transport), remote.WithAuth(auth)); err != nil {
		t.Fatal(err)
	}
	digest, err := image.Digest()
	if err != nil {
		t.Fatal(err)
	}
	return digest.String()
}

func TestChartsOfARegistry(t *testing.T) {
	s, of := hub(t)
	one, two := shop(t, "1.2.0"), shop(t, "1.10.0+b")
	manifest := push(t, s, of, "1.2.0", one)
	push(t, s, of, "1.10.0_b", two)
	for name, c := range map[string]struct {
		version, digest string
		want            Pin
	}{
		"a range":     {"1.x", "", Pin{"1.10.0+b", digestOf(two)}},
		"the highest": {"", "", Pin{"1.10.0+b", digestOf(two)}},
		"a tag":       {"1.2.0", "", Pin{"1.2.0", digestOf(one)}},
		"a digest":    {"9.x", manifest, Pin{manifest, digestOf(one)}},
	} {
		store := newStore(t)
		of.Version, of.Digest = c.version, c.digest
		pin, err := store.Resolve(t.Context(), of, Pin{})
		if diff := cmp.Diff(c.want, pin); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", name, err, diff)
			continue
		}
		if files, err := get(t.Context(), store, of, pin); err != nil || len(files) != 1 {
			t.Errorf("%s: got %v %v", name, files, err)
		}
	}
	store := newStore(t)
	of.Version, of.Digest = "3.x", ""
	if _, err := store.Resolve(t.Context(), of, Pin{}); err == nil ||
		!strings.Contains(err.Error(), `no version of the chart in "3.x"`) {
		t.Errorf("got %v", err)
	}
	if _, err := get(t.Context(), store, of, Pin{"3.0.0", digestOf([]byte("absent"))}); err == nil {
		t.Error("a blob that is not there is got")
	}
	of.Password = "wrong-s3cret"
	if _, err := store.Resolve(t.Context(), of, Pin{}); err == nil || strings.Contains(err.Error(), "s3cret") {
		t.Errorf("got %v", err)
	}
}

func TestARegistryThatLies(t *testing.T) {
	s, of := hub(t)
	chart := shop(t, "1.0.0")
	push(t, s, of, "1.0.0", chart)
	inner := s.Config.Handler
	s.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if strings.Contains(req.URL.Path, "/blobs/") && req.Header.Get("Authorization") != "" {
			_, _ = w.Write(shop(t, "6.6.6"))
			return
		}
		inner.ServeHTTP(w, req)
	})
	store := newStore(t)
	pin, err := store.Resolve(t.Context(), of, Pin{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := get(t.Context(), store, of, pin); err == nil {
		t.Error("other bytes are believed")
	}
}
