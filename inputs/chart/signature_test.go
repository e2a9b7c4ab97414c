package chart

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"helm.sh/helm/v4/pkg/provenance"

	"github.com/agentry-dev/agentry/inputs/chart/signed"
)

// signer has a key as cosign makes it.
type signer struct{ *ecdsa.PrivateKey }

func newSigner(t *testing.T) signer {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return signer{key}
}

func (s signer) public(t *testing.T) []byte {
	t.Helper()
	raw, err := x509.MarshalPKIXPublicKey(s.Public())
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: raw})
}

// sign returns a signature as cosign stores it.
func (s signer) sign(t *testing.T, payload string) mutate.Addendum {
	t.Helper()
	sum := sha256.Sum256([]byte(payload))
	signature, err := ecdsa.SignASN1(rand.Reader, s.PrivateKey, sum[:])
	if err != nil {
		t.Fatal(err)
	}
	return mutate.Addendum{
		Layer:       static.NewLayer([]byte(payload), "application/vnd.dev.cosign.simplesigning.v1+json"),
		Annotations: map[string]string{signatureAnnotation: base64.StdEncoding.EncodeToString(signature)},
	}
}

func cosigned(digest string) string {
	return `{"critical":{"identity":{"docker-reference":""},"image":{"docker-manifest-digest":"` + digest +
		`"},"type":"cosign container image signature"},"optional":null}`
}

// attach stores signatures of a manifest where cosign does.
func attach(t *testing.T, s *httptest.Server, of Request, manifest string, signatures ...mutate.Addendum) {
	t.Helper()
	image, err := mutate.Append(empty.Image, signatures...)
	if err != nil {
		t.Fatal(err)
	}
	at, err := name.ParseReference(strings.TrimPrefix(of.URL, Scheme) + ":" + strings.Replace(manifest, ":", "-", 1) +
		".sig")
	if err != nil {
		t.Fatal(err)
	}
	auth := authn.FromConfig(authn.AuthConfig{Username: of.Username, Password: of.Password})
	if err := remote.Write(at, image, remote.WithTransport(s.Client().Transport), remote.WithAuth(auth)); err != nil {
		t.Fatal(err)
	}
}

func keys(t *testing.T, of signed.Keyring) *signed.Keys {
	t.Helper()
	k, err := of.Keys()
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// build looks a chart up, fetches it, and returns what a build gets.
func (s *Store) build(t *testing.T, of Request) (Pin, string) {
	t.Helper()
	b := NewVersions(s, VersionsOptions{AllowPrivateAddresses: true})
	b.Configure([]Repository{{URL: of.URL, Access: of.Access}}, []Trust{{Keys: of.Keys}})
	fetch(t, b.Now(), of.Source)
	return used(t, b.Now(), of.Source)
}

func TestChartsThatCosignSigned(t *testing.T) {
	ours, other := newSigner(t), newSigner(t)
	for name, c := range map[string]struct {
		signatures func(digest string) []mutate.Addendum
		want       string // "" is accepted
	}{
		"signed": {func(d string) []mutate.Addendum { return []mutate.Addendum{ours.sign(t, cosigned(d))} }, ""},
		"signed by several": {func(d string) []mutate.Addendum {
			return []mutate.Addendum{other.sign(t, cosigned(d)), ours.sign(t, cosigned(d))}
		}, ""},
		"another key": {func(d string) []mutate.Addendum {
			return []mutate.Addendum{other.sign(t, cosigned(d))}
		}, "is not verified: its signature is not from a trusted key"},
		"no signature":            {nil, "is not verified: it has no cosign signature (there is no tag sha256-"},
		"a list of no signatures": {func(string) []mutate.Addendum { return nil }, "it has no cosign signature"},
		"of another artifact": {func(string) []mutate.Addendum {
			return []mutate.Addendum{ours.sign(t, cosigned(digestOf([]byte("another"))))}
		}, "its signature is for another artifact"},
		"something else": {func(d string) []mutate.Addendum {
			return []mutate.Addendum{ours.sign(t,
				strings.Replace(cosigned(d), "cosign container image signature", "attestation", 1))}
		}, "the signed payload is not a cosign artifact signature"},
		"too large": {func(d string) []mutate.Addendum {
			return []mutate.Addendum{ours.sign(t, cosigned(d)+strings.Repeat(" ", maxSignatureBytes))}
		}, "its signature is larger than 1 MiB"},
		"no base64": {func(d string) []mutate.Addendum {
			a := ours.sign(t, cosigned(d))
			a.Annotations[signatureAnnotation] = "%"
			return []mutate.Addendum{a}
		}, "its signature is not base64"},
		"more signatures than are looked at": {func(d string) (out []mutate.Addendum) {
			for range maxSignatures {
				out = append(out, other.sign(t, cosigned(d)))
			}
			return append(out, ours.sign(t, cosigned(d)))
		}, "not from a trusted key"},
	} {
		t.Run(name, func(t *testing.T) {
			s, of := hub(t)
			of.Version, of.Keys = "1.x", keys(t,
				signed.Keyring{Cosign: append(newSigner(t).public(t), ours.public(t)...)})
			manifest := push(t, s, of, "1.0.0_b", shop(t, "1.0.0+b"))
			if c.signatures != nil {
				attach(t, s, of, manifest, c.signatures(manifest)...)
			}
			pin, problem := newStore(t).build(t, of)
			if (problem == "") != (c.want == "") || !strings.Contains(problem, c.want) ||
				(c.want == "") != (pin.Version == "1.0.0+b") {
				t.Errorf("got %v %s", pin, problem)
			}
			of.Source = Source{URL: of.URL, Digest: manifest}
			if pin, problem := newStore(t).build(t, of); (problem == "") != (c.want == "") {
				t.Errorf("by digest: got %v %s", pin, problem)
			}
		})
	}
}

// vouch writes a provenance file with Helm's own code.
func vouch(t *testing.T, key *openpgp.Entity, file string, archive []byte) []byte {
	t.Helper()
	text, err := (&provenance.Signatory{Entity: key}).ClearSign(archive, file, []byte("name: shop\n"))
	if err != nil {
		t.Fatal(err)
	}
	return []byte(text)
}

func newPGP(t *testing.T) (*openpgp.Entity, []byte) {
	t.Helper()
	key, err := openpgp.NewEntity("Ann", "", "ann@example.com", nil)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := key.Serialize(&out); err != nil {
		t.Fatal(err)
	}
	return key, out.Bytes()
}

func TestChartsWithProvenanceFiles(t *testing.T) {
	ours, ring := newPGP(t)
	other, _ := newPGP(t)
	archive := shop(t, "1.0.0")
	good := vouch(t, ours, "shop-1.0.0.tgz", archive)
	for name, c := range map[string]struct {
		text []byte // nil: there is none
		want string
	}{
		"signed":             {good, ""},
		"signed, on Windows": {bytes.ReplaceAll(good, []byte("\n"), []byte("\r\n")), ""},
		"another key": {vouch(t, other, "shop-1.0.0.tgz", archive),
			fmt.Sprintf("is not from a trusted key (it names %X)", other.PrimaryKey.Fingerprint)},
		"none":               {nil, "version 1.0.0 is not verified: it has no provenance file"},
		"of another archive": {vouch(t, ours, "shop-1.0.0.tgz", shop(t, "1.0.1")), "is about another archive"},
		"of another version": {vouch(t, ours, "shop-0.9.0.tgz", archive), "it does not name shop-1.0.0.tgz"},
		"changed": {bytes.Replace(good, []byte("name: shop"), []byte("name: ship"), 1),
			"is not from a trusted key"},
		"not signed": {[]byte("name: shop\n...\nfiles: {shop-1.0.0.tgz: '" + digestOf(archive) + "'}\n"),
			"holds no signature"},
		"too large": {append(bytes.Repeat([]byte("x"), maxSignatureBytes), good...),
			"its signature is larger than 1 MiB"},
		"a truncated one": {good[:len(good)-200], "provenance file"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newServer(t)
			s.publish(t, "1.0.0")
			if c.text != nil {
				s.answers["/shop-1.0.0.tgz.prov"] = text(c.text)
			}
			of := Request{Source: Source{URL: s.URL, Name: "shop", Version: "1.x"},
				Access: robot(), Keys: keys(t, signed.Keyring{PGP: ring})}
			pin, problem := newStore(t).build(t, of)
			if (problem == "") != (c.want == "") || !strings.Contains(problem, c.want) {
				t.Errorf("got %v %s", pin, problem)
			}
		})
	}
	s := newServer(t)
	s.publish(t, "1.0.0")
	of := Request{Source: Source{URL: s.URL, Name: "shop"},
		Access: robot(), Keys: keys(t, signed.Keyring{Cosign: newSigner(t).public(t)})}
	if _, problem := newStore(t).build(t, of); !strings.Contains(problem, "cosign signs charts in registries") {
		t.Errorf("a key of cosign for a repository over HTTP: %s", problem)
	}
}

// TestProvenanceInARegistry: helm push stores the provenance file as a layer of the chart.
func TestProvenanceInARegistry(t *testing.T) {
	ours, ring := newPGP(t)
	s, of := hub(t)
	archive := shop(t, "1.0.0")
	of.Keys = keys(t, signed.Keyring{PGP: ring})
	pushWith(t, s, of, "1.0.0", archive, vouch(t, ours, "shop-1.0.0.tgz", archive))
	pushWith(t, s, of, "stable", archive, vouch(t, ours, "shop-1.0.0.tgz", archive))
	pushWith(t, s, of, "2.0.0", archive, vouch(t, ours, "shop-1.0.0.tgz", archive))
	push(t, s, of, "3.0.0", archive)
	for version, want := range map[string]string{
		"1.0.0": "", "stable": "", "2.0.0": "it does not name shop-2.0.0.tgz", "3.0.0": "holds no signature",
	} {
		of.Version = version
		if _, problem := newStore(t).build(t, of); (problem == "") != (want == "") || !strings.Contains(problem, want) {
			t.Errorf("%s: got %s", version, problem)
		}
	}
}

// TestTheCacheIsNoWayAroundASignature: what was fetched before somebody asked for signatures, or was signed by a key
// that is not trusted any more, is not used; nor is what another process writes into the cache.
func TestTheCacheIsNoWayAroundASignature(t *testing.T) {
	ours, ring := newPGP(t)
	other, otherRing := newPGP(t)
	archive := shop(t, "1.0.0")
	s, store := newServer(t), newStore(t)
	pin := s.publish(t, "1.0.0")["1.0.0"]
	of := Source{URL: s.URL, Name: "shop", Version: "1.x"}
	b := NewVersions(store, VersionsOptions{Update: time.Hour, AllowPrivateAddresses: true})
	b.Begin([]Pinned{{of, pin}}, nil, nil)
	check := func(step, want string, trusts ...Trust) {
		t.Helper()
		b.Configure(nil, trusts)
		_, before := (&Renderer{Charts: b.Now()}).Recording()
		fetch(t, b.Now(), of)
		if got, problem := used(t, b.Now(), of); (problem == "") != (want == "") || !strings.Contains(problem, want) {
			t.Errorf("%s: got %v %s", step, got, problem)
		}
		if got, problem := used(t, b.Now().Rendered(), of); got != pin || problem != "" {
			t.Errorf("%s: what was rendered last: got %v %s", step, got, problem)
		}
		if want != "" && !b.Now().IsCurrent(before) {
			t.Errorf("%s: a build of no charts is old", step)
		}
	}
	trusted, changed := Trust{Keys: keys(t, signed.Keyring{PGP: ring})},
		Trust{Keys: keys(t, signed.Keyring{PGP: otherRing})}
	check("without a setting", "")
	check("not signed", "version 1.0.0 is not verified: it has no provenance file", trusted)
	uses := Uses{of: {Pin: pin}}
	if b.Now().IsCurrent(uses) {
		t.Error("a build with the chart as it was counts as current")
	}
	forged := store.signatureFile(Request{Source: of}, pin)
	if err := os.WriteFile(forged, []byte(`{"provenance": "bm8="}`), 0o600); err != nil {
		t.Fatal(err)
	}
	check("with a forged signature", "it has no provenance file", trusted)
	s.answers["/shop-1.0.0.tgz.prov"] = text(vouch(t, ours, "shop-1.0.0.tgz", archive))
	check("signed", "", trusted)
	s.answers["/shop-1.0.0.tgz.prov"] = func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusServiceUnavailable)
	}
	check("signed, in a later process", "", trusted)
	check("with another key, and the repository is away", "503", changed)
	s.answers["/shop-1.0.0.tgz.prov"] = text(vouch(t, ours, "shop-1.0.0.tgz", archive))
	b = NewVersions(store, VersionsOptions{Update: time.Hour, AllowPrivateAddresses: true})
	b.Begin([]Pinned{{of, pin}}, nil, nil)
	check("with another key", "is not from a trusted key", changed)
	s.answers["/shop-1.0.0.tgz.prov"] = text(vouch(t, other, "shop-1.0.0.tgz", archive))
	check("signed anew", "", changed)
	check("accepted without a check", "", Trust{Keys: changed.Keys}, Trust{URL: s.URL})
}

// TestANewVersionThatIsNotSigned: the version goes on that was rendered last.
func TestANewVersionThatIsNotSigned(t *testing.T) {
	ours, ring := newPGP(t)
	s := newServer(t)
	pins := s.publish(t, "1.0.0", "1.1.0")
	s.answers["/shop-1.0.0.tgz.prov"] = text(vouch(t, ours, "shop-1.0.0.tgz", shop(t, "1.0.0")))
	of := Source{URL: s.URL, Name: "shop", Version: "1.x"}
	b := NewVersions(newStore(t), VersionsOptions{Update: time.Hour, AllowPrivateAddresses: true})
	b.Configure(nil, []Trust{{URL: s.URL, Keys: keys(t, signed.Keyring{PGP: ring})}})
	b.Begin([]Pinned{{of, pins["1.0.0"]}}, nil, nil)
	fetch(t, b.Now(), of)
	if pin, problem := used(t, b.Now(), of); pin != pins["1.0.0"] || problem != "" {
		t.Errorf("got %v %s", pin, problem)
	}
	found := b.Warnings(Uses{of: {Pin: pins["1.0.0"]}})
	if len(found) != 1 || !found[0].IsUnverified ||
		!strings.Contains(found[0].Reason, "version 1.1.0 is not verified: it has no provenance file") {
		t.Errorf("got %+v", found)
	}
}

func TestWhichChartsMustBeSigned(t *testing.T) {
	for _, c := range []struct {
		of, trust string
		covers    bool
	}{
		{"https://charts.example.com", "", true},
		{"https://charts.example.com/team", "https://charts.example.com", true},
		{"https://charts.example.com/teams", "https://charts.example.com/team", false},
		{"https://charts.example.com/team/../other", "https://charts.example.com/team", false},
		{"https://charts.example.com/other/%2e%2e/team", "https://charts.example.com/team/", true},
		{"https://CHARTS.example.com.:443/team?token=s3cret", "https://charts.example.com/team", true},
		{"http://charts.example.com/team", "https://charts.example.com/team", true},
		{"https://charts.example.com:8443/team", "https://charts.example.com/team", false},
		{"oci://ghcr.io/team/shop", "oci://ghcr.io/team", true},
		{"oci://ghcr.io:443/team/shop", "oci://ghcr.io/team", true},
		{"oci://ghcr.io/team/shop", "https://ghcr.io/team", false},
	} {
		if got := (&Trust{URL: c.trust}).covers(Source{URL: c.of}); got != c.covers {
			t.Errorf("%s for %s: %v", c.trust, c.of, got)
		}
	}
	v := NewVersions(newStore(t), VersionsOptions{})
	v.Configure(nil, []Trust{{URL: "oci://ghcr.io/a"}, {}, {URL: "oci://ghcr.io/a/b"}})
	for of, want := range map[string]string{"oci://ghcr.io/a/b/c": "oci://ghcr.io/a/b",
		"oci://ghcr.io/a/c": "oci://ghcr.io/a", "oci://ghcr.io/c": ""} {
		if got := v.trust(Source{URL: of}); got == nil || got.URL != want {
			t.Errorf("%s: %+v", of, got)
		}
	}
}
