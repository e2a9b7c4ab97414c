package merge

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/netip"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentry-dev/agentry/test/sd/strict"
)

// pod makes the entry of the nth pod of an owner, with a target for each integration.
func pod(t testing.TB, owner Owner, n int, integrations ...string) Entry {
	t.Helper()
	addr := netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 0, byte(n >> 8), byte(n)}), 8080)
	body := []byte("[")
	for i, name := range integrations {
		if i > 0 {
			body = append(body, ',')
		}
		body = fmt.Appendf(body, `{"targets":[%q],"labels":{"__meta_agent_integration_name":%q,"__metrics_path__":"/integrations/%s/%d","pad":%q}}`,
			addr, name, name, n, bytes.Repeat([]byte("x"), 400))
	}
	fragment, drops, err := Parse(append(body, ']'), Source{Owner: owner, Addr: addr, Scheme: "http"}, DefaultLimits())
	if err != nil || drops != nil {
		t.Fatal(err, drops)
	}
	return Entry{Owner: owner, Addr: addr, Fragment: fragment}
}

func content(t testing.TB, v *View) string {
	t.Helper()
	var out bytes.Buffer
	if n, err := v.WriteTo(&out); err != nil || n != int64(v.Size()) || out.Len() != v.Size() {
		t.Fatalf("wrote %d (%d), said %d: %v", out.Len(), n, v.Size(), err)
	}
	groups, err := strict.Parse(out.Bytes())
	if err != nil || len(groups) != v.Targets() {
		t.Fatalf("a client refuses it: %v, %d targets of %d", err, len(groups), v.Targets())
	}
	return out.String()
}

func TestTheDocumentDoesNotDependOnTheOrderOfAnswers(t *testing.T) {
	a, b, c := Owner{"a", "z"}, Owner{"b", "a"}, Owner{"b", "c"}
	entries := []Entry{pod(t, a, 300, "redis", "agent"), pod(t, a, 2, "node_exporter"), pod(t, b, 7, "x"), pod(t, c, 1),
		{Owner: c, Addr: netip.MustParseAddrPort("[fd00::1]:80")}}
	first := Build(entries)
	want := content(t, first.All())
	for range 50 {
		rand.Shuffle(len(entries), func(i, j int) { entries[i], entries[j] = entries[j], entries[i] })
		again := Build(entries)
		if diff := cmp.Diff(want, content(t, again.All())); diff != "" || again.All().Tag() != first.All().Tag() {
			t.Fatal(diff)
		}
	}
}

func TestViewsArePartsOfTheDocument(t *testing.T) {
	a, b, c := Owner{"a", "z"}, Owner{"b", "a"}, Owner{"b", "c"}
	d := Build([]Entry{pod(t, b, 7, "x"), pod(t, a, 2, "y"), pod(t, a, 1, "z"), pod(t, c, 5)})
	all := content(t, d.All())
	ofA, ofB := content(t, d.Of(a)), content(t, d.Of(b))
	if want := ofA[:len(ofA)-2] + ",\n" + ofB[1:]; want != all {
		t.Errorf("the parts make\n%s\nnot\n%s", want, all)
	}
	for _, none := range []Owner{c, {"no", "body"}} {
		if got := content(t, d.Of(none)); got != "[]\n" {
			t.Errorf("%s: %q", none, got)
		}
	}
	if tags := map[string]bool{d.All().Tag(): true, d.Of(a).Tag(): true, d.Of(b).Tag(): true,
		d.Of(c).Tag(): true}; len(tags) != 4 {
		t.Error("tags are equal:", tags)
	}
	if got := content(t, Build(nil).All()); got != "[]\n" {
		t.Errorf("no pods: %q", got)
	}
}

func TestGzipHoldsTheSame(t *testing.T) {
	v := Build([]Entry{pod(t, Owner{"a", "b"}, 2, "y", "z")}).All()
	r, err := gzip.NewReader(bytes.NewReader(v.Gzip()))
	if err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(r)
	if err != nil || string(got) != content(t, v) {
		t.Errorf("%s, %v", got, err)
	}
}

func TestWriteErrorsEndTheWriting(t *testing.T) {
	v := Build([]Entry{pod(t, Owner{"a", "b"}, 2, "y"), pod(t, Owner{"a", "b"}, 3, "y")}).All()
	w := &failing{}
	if _, err := v.WriteTo(w); !errors.Is(err, io.ErrClosedPipe) || w.calls != 2 {
		t.Errorf("%v after %d writes", err, w.calls)
	}
}

type failing struct{ calls int }

func (f *failing) Write(p []byte) (int, error) {
	if f.calls++; f.calls == 2 {
		return 0, io.ErrClosedPipe
	}
	return len(p), nil
}

func TestHoldingKeepsTheKeysThatVanished(t *testing.T) {
	group := func(name, instance, path string) string {
		return fmt.Sprintf(`{"targets":["10.1.2.3:8080"],"labels":{"__meta_agent_integration_name":%q,"__meta_agent_integration_instance":%q,"__metrics_path__":%q}}`, name, instance, path)
	}
	parse := func(groups ...string) *Fragment {
		body := "["
		for i, g := range groups {
			if i > 0 {
				body += ","
			}
			body += g
		}
		f, drops, err := Parse([]byte(body+"]"), source(), DefaultLimits())
		if err != nil || drops != nil {
			t.Fatal(err, drops)
		}
		return f
	}
	agent, a, b := group("agent", "", "/agent"), group("redis", "a", "/redis/a"), group("redis", "b", "/redis/b")
	alone := group("redis", "a", "/redis") // The path moves when b goes.
	tests := map[string]struct{ before, now, want *Fragment }{
		"nothing before":                {nil, parse(a), parse(a)},
		"the same":                      {parse(a, b), parse(b, a), parse(a, b)},
		"more":                          {parse(a), parse(a, b), parse(a, b)},
		"one less":                      {parse(agent, a, b), parse(agent, b), parse(agent, a, b)},
		"nothing left":                  {parse(agent, a), parse(), parse(agent, a)},
		"one less, the other moved":     {parse(a, b), parse(alone), parse(alone, b)},
		"the same one with other bytes": {parse(alone), parse(a, b), parse(a, b)},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := test.now.Holding(test.before); !got.Equal(test.want) {
				t.Errorf("got\n%s\nwant\n%s", got.data, test.want.data)
			}
		})
	}
}

// FuzzParse gives any bytes as the answer of one pod. The document is valid for the strictest client (with -tags
// oracle, for the real ones), the pod names only itself, and the other pod's part does not change.
func FuzzParse(f *testing.F) {
	for _, test := range groupTests() {
		f.Add([]byte(`[` + test.group + `,` + good + `]`))
	}
	for _, test := range answerTests() {
		f.Add([]byte(test.body))
	}
	for _, body := range samples(f) {
		f.Add(body)
	}
	f.Add([]byte("[" + group(`"a":"\ud800\u0000\u2028<>&\\\""`) + "]"))
	other := pod(f, Owner{"z", "z"}, 9, "agent")
	f.Fuzz(func(t *testing.T, body []byte) {
		from := source()
		fragment, _, err := Parse(body, from, DefaultLimits())
		if err != nil {
			return
		}
		d := Build([]Entry{{Owner: from.Owner, Addr: from.Addr, Fragment: fragment}, other})
		if !bytes.Contains([]byte(content(t, d.All())), other.Fragment.data) {
			t.Fatal("the other pod's part is gone")
		}
		groups, err := strict.Parse([]byte(content(t, d.Of(from.Owner))))
		if err != nil {
			t.Fatal(err)
		}
		for _, g := range groups {
			if g.Targets[0] != from.Addr.String() || g.Labels[OwnerNameLabel] != "ga" ||
				g.Labels[OwnerNamespaceLabel] != "monitoring" || g.Labels["__address__"] != "" {
				t.Fatal(g)
			}
		}
		again, drops, err := Parse([]byte(content(t, d.Of(from.Owner))), from, DefaultLimits())
		if err != nil || !again.Equal(fragment) && drops == nil {
			t.Fatalf("not canonical: %v\n%s\n%s", err, fragment.data, again.data)
		}
	})
}

func benchmarkPods(b *testing.B) []Entry {
	entries := make([]Entry, 5000)
	for i := range entries {
		entries[i] = pod(b, Owner{"monitoring", fmt.Sprint("ga", i%20)}, i, "agent", "node_exporter", "redis", "mysql")
	}
	return entries
}

func BenchmarkBuild(b *testing.B) {
	entries := benchmarkPods(b)
	run := func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			Build(entries)
		}
	}
	b.Run("in no order", run)
	slices.SortFunc(entries, compareEntries)
	b.Run("in order", run)
}

func BenchmarkWriteTo(b *testing.B) {
	v := Build(benchmarkPods(b)).All()
	b.SetBytes(int64(v.Size()))
	for b.Loop() {
		if _, err := v.WriteTo(io.Discard); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkParse(b *testing.B) {
	e := pod(b, Owner{"monitoring", "ga"}, 1, "agent", "node_exporter", "redis", "mysql")
	body := []byte("[" + string(e.Fragment.data) + "]")
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		if _, _, err := Parse(body, Source{Owner: e.Owner, Addr: e.Addr, Scheme: "http"}, DefaultLimits()); err != nil {
			b.Fatal(err)
		}
	}
}
