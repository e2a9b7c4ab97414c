package gitsync_test

import (
	"bytes"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/ProtonMail/go-crypto/openpgp"
	"helm.sh/helm/v4/pkg/provenance"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/gitsync"
	"github.com/agentry-dev/agentry/gitsync/pipeline"
	"github.com/agentry-dev/agentry/gitsync/repo/transport"
	"github.com/agentry-dev/agentry/inputs/chart/signed"
)

// vouching answers with provenance files of the versions of the chart shop, of which some are set later.
type vouching struct {
	t    *testing.T
	key  *openpgp.Entity
	mu   sync.Mutex
	text map[string]string // by path
}

func newVouching(t *testing.T) (*vouching, []byte) {
	key, err := openpgp.NewEntity("Ann", "", "ann@example.com", nil)
	if err != nil {
		t.Fatal(err)
	}
	var ring bytes.Buffer
	if err := key.Serialize(&ring); err != nil {
		t.Fatal(err)
	}
	return &vouching{t: t, key: key, text: map[string]string{}}, ring.Bytes()
}

// sign publishes the provenance file of a version.
func (v *vouching) sign(version, port string) {
	v.t.Helper()
	file := "shop-" + version + ".tgz"
	text, err := (&provenance.Signatory{Entity: v.key}).ClearSign(shopChart(v.t, version, port), file,
		[]byte("name: shop\n"))
	if err != nil {
		v.t.Fatal(err)
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.text["/"+file+".prov"] = text
}

func (v *vouching) answer(w http.ResponseWriter, req *http.Request) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	text, found := v.text[req.URL.Path]
	if found {
		_, _ = w.Write([]byte(text)) // the client may stop reading
	}
	return found
}

// TestChartsThatMustBeSigned: a chart without a signature is an error of what needs it, whose objects are held; other
// units move on. A new version is used only if it is signed. What was in the cache before the setting is not exempt.
func TestChartsThatMustBeSigned(t *testing.T) {
	t.Parallel()
	signer, ring := newVouching(t)
	r := newChartRepository(t, map[string]string{"1.2.0": "first"})
	l := newChartLab(t, r, "1.x")
	l.pass()
	l.pipeline.Spec.Charts.Verify = []pipeline.ChartVerify{{URL: r.URL, KeyringFile: "helm.gpg"}}
	l.creds.Signers = []signed.Keyring{{PGP: ring}}
	check := func(step string, report *gitsync.Report, port string, findings ...string) {
		t.Helper()
		if got := codes(report, diag.Error); !slices.Equal(got, findings) || l.port() != port {
			t.Errorf("%s: port %s, %v", step, l.port(), report.Diags)
		}
	}
	r.set(map[string]string{"1.2.0": "first"}, signer.answer)
	l.input(map[string]string{"in/b/web.yaml": monitor("b", "web", "b1"),
		"in/a/kustomization.yaml": fetches(r, "1.x") + "# edited\n"})
	before := maps.Clone(below(l.remote.read("env"), "b"))
	report := l.pass()
	check("rendered before, and not signed", report, "first", "build-failed")
	if !strings.Contains(report.Diags[0].Message, "version 1.2.0 is not verified: it has no provenance file") ||
		len(report.Held) == 0 || maps.Equal(before, below(l.remote.read("env"), "b")) {
		t.Errorf("held %v, %v", report.Held, report.Diags)
	}
	signer.sign("1.2.0", "first")
	check("signed", l.pass(), "first")
	l.pipeline.Spec.Charts.Update = "1h"
	r.set(map[string]string{"1.2.0": "first", "1.3.0": "second"}, signer.answer)
	check("a new version that is not signed", l.pass(), "first", "chart-unverified")
	signer.sign("1.3.0", "third")
	check("one whose signature is of another archive", l.pass(), "first", "chart-unverified")
	signer.sign("1.3.0", "second")
	check("a new version that is signed", l.pass(), "second")

	_, other := newVouching(t)
	s := l.syncer()
	check("nothing new", l.passOf(s), "second")
	creds := gitsync.Credentials{Sources: make([]transport.Auth, 1), Signers: []signed.Keyring{{PGP: other}}}
	if err := s.SetCredentials(creds); err != nil {
		t.Fatal(err)
	}
	check("the key is not trusted any more", l.passOf(s), "second", "build-failed")
	creds.Signers = []signed.Keyring{{PGP: []byte("no key")}}
	if err := s.SetCredentials(creds); err == nil ||
		!strings.Contains(err.Error(), "charts.verify[0]: is not a keyring") {
		t.Errorf("a file without keys: %v", err)
	}
}
