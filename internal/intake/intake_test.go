package intake

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestMapsAreBounded fills the map that strangers can fill.
func TestMapsAreBounded(t *testing.T) {
	g := New()
	for i := range maxClients + 10 {
		r := httptest.NewRequest(http.MethodPost, "http://h/", nil)
		r.RemoteAddr = fmt.Sprintf("10.%d.%d.1:1", i/256, i%256)
		g.Allow(r)
	}
	if n := g.clients.Len(); n != maxClients {
		t.Errorf("%d clients are kept", n)
	}
}

// TestBodiesAreCountedWhileTheyAreRead reads bodies at the limit and above it.
func TestBodiesAreCountedWhileTheyAreRead(t *testing.T) {
	g := New()
	for body, want := range map[string]int{"0123456789": http.StatusOK,
		"0123456789a": http.StatusRequestEntityTooLarge} {
		for _, length := range []int64{int64(len(body)), -1} {
			r := httptest.NewRequest(http.MethodPost, "http://h/", strings.NewReader(body))
			r.ContentLength = length
			var read strings.Builder
			got := http.StatusOK
			if err := g.Copy(&read, httptest.NewRecorder(), r, 10); err != nil {
				got = StatusOf(err)
			}
			if got != want || got == http.StatusOK && read.String() != body {
				t.Errorf("%q: status %d, want %d; read %q", body, got, want, read.String())
			}
		}
	}
	if n := len(g.bodies.reading); n != 0 {
		t.Errorf("%d bodies are still counted", n)
	}
}

// TestTheClientWithMostBodiesGivesWay: its oldest body is aborted, whoever sends the new one.
func TestTheClientWithMostBodiesGivesWay(t *testing.T) {
	var given []string
	b := newBodies(4)
	for i, client := range []string{"genuine", "attacker", "attacker", "attacker", "another", "attacker"} {
		b.begin(client, func() { given = append(given, fmt.Sprint(client, i)) })
	}
	if diff := cmp.Diff([]string{"attacker1", "attacker2"}, given); diff != "" {
		t.Error(diff)
	}
}
