package repo_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentry-dev/agentry/gitsync/repo"
	"github.com/agentry-dev/agentry/gitsync/repo/object"
	"github.com/agentry-dev/agentry/gitsync/repo/transport"
	"github.com/agentry-dev/agentry/test/gittest"
)

// TestRequestsAreObserved follows the requests of one repository. Calls that need no remote are not observed.
func TestRequestsAreObserved(t *testing.T) {
	t.Parallel()
	g := gittest.NewRepo(t)
	g.Commit("main", map[string]string{"a.yaml": "1"})
	url, _ := g.ServeHTTP(gittest.HTTPOptions{})
	var told []string
	r := open(t, transport.Remote{URL: url}, repo.Options{Observe: func(q repo.Request) {
		result := "ok"
		switch {
		case errors.Is(q.Err, repo.ErrLostRace):
			result = "lost race"
		case q.Err != nil:
			result = q.Err.Error()
		}
		if q.Took <= 0 {
			t.Errorf("%s took %v", q.Operation, q.Took)
		}
		told = append(told, string(q.Operation)+" "+result)
		if q.Remote+".git" != url {
			t.Errorf("remote %q", q.Remote)
		}
	}})
	tip := fetch(t, r, repo.Ref{})[0]
	fetch(t, r, repo.Ref{Commit: tip.Commit.String()}) // It is here.
	if _, err := r.List(testContext(t)); err != nil {
		t.Fatal(err)
	}
	rd := reader(t, r)
	w := object.NewWriter(rd)
	next := commitOn(t, w, rd, tip, map[string]object.Edit{"b.yaml": {Data: []byte("2")}})
	p := pusher(t, r, transport.Auth{})
	if err := p.Push(testContext(t), w, repo.Update{Ref: mainRef, Old: tip.Commit, New: next}); err != nil {
		t.Fatal(err)
	}
	if err := p.Push(testContext(t), w, repo.Update{Ref: mainRef, Old: tip.Commit, New: tip.Commit}); err == nil {
		t.Error("a lost race was won")
	}
	want := []string{"list ok", "fetch ok", "list ok", "push ok", "push lost race"}
	if diff := cmp.Diff(want, told); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
