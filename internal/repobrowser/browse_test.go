package repobrowser

import (
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"github.com/agentry-dev/agentry/gitsync"
	"github.com/agentry-dev/agentry/gitsync/fleet"
	"github.com/agentry-dev/agentry/test/outputs"
)

func storeOf(w *outputs.Repository) *Store { return NewStore(w, slog.New(slog.DiscardHandler)) }

func said(d *Change) string {
	text := d.Difference.Summary()
	for _, s := range append(d.Difference.Effects(), d.Difference.Details()...) {
		text += "\n" + s.Heading.String() + "\n"
		for _, line := range s.Lines {
			text += line.String() + "\n"
		}
	}
	return text
}

// TestTheHistoryOfABranch: each commit names its input commit and shows its changes, without secrets.
func TestTheHistoryOfABranch(t *testing.T) {
	w := outputs.New(t)
	w.Pass()
	source := w.Remote.Commit("main", map[string]string{"in/agent.yaml": outputs.Input("second")})
	w.Pass()
	w.Remote.Commit("out", map[string]string{"m/agent/notes.txt": "by hand"})
	w.Remote.Commit("main", map[string]string{"in/more.yaml": strings.ReplaceAll(outputs.Input("third"),
		"namespace: m}", "namespace: other}")})
	w.Pass()
	s := storeOf(w)
	h, refused := s.History("prod", 10)
	if refused != nil {
		t.Fatal(refused)
	}
	if len(h.Commits) != 4 || h.HasMore {
		t.Fatalf("%+v", h)
	}
	third, hand, second, first := h.Commits[0], h.Commits[1], h.Commits[2], h.Commits[3]
	if len(second.Inputs) != 1 || second.Inputs[0].Commit != source || second.Inputs[0].Subject == "" ||
		second.Parent != first.ID || first.Parent != "" {
		t.Errorf("%+v", second)
	}
	if len(hand.Inputs) != 0 {
		t.Errorf("a commit by hand is said to be rendered: %+v", hand)
	}
	for id, want := range map[string][]string{
		third.ID:  {"4 objects added", "pods start", "+ Secret other/agent-config"},
		hand.ID:   {"no difference"},
		second.ID: {"2 objects changed", "~ Secret m/agent-config", "http://mimir/second"},
		first.ID:  {"objects added"},
	} {
		c, refused := s.Change("prod", id)
		if refused != nil {
			t.Error(refused)
			continue
		}
		for _, words := range want {
			if text := said(c); !strings.Contains(text, words) {
				t.Errorf("does not say %q:\n%s", words, text)
			}
		}
		if strings.Contains(said(c), outputs.Password) || strings.Contains(said(c), outputs.User) {
			t.Errorf("a secret is shown:\n%s", said(c))
		}
	}
	if h, _ := s.History("prod", 2); len(h.Commits) != 2 || !h.HasMore {
		t.Errorf("%d commits of two", len(h.Commits))
	}
}

// TestWhatIsNotShown: only commits of the output branch are shown, and only while they can be compared.
func TestWhatIsNotShown(t *testing.T) {
	w := outputs.New(t)
	for i := range 4 {
		w.Remote.Commit("main", map[string]string{"in/agent.yaml": outputs.Input(fmt.Sprint(i))})
		w.Pass()
	}
	w.Clone(3)
	s := storeOf(w)
	h, refused := s.History("prod", 10)
	if refused != nil {
		t.Fatal(refused)
	}
	last := h.Commits[len(h.Commits)-1]
	if len(h.Commits) != 3 || !h.HasMore || !last.Oldest || h.Commits[0].Oldest {
		t.Errorf("%+v", h)
	}
	foreign := w.Remote.Head("out~3")
	for id, want := range map[string]string{last.ID: "no longer in the cache", foreign: "not among the latest commits",
		"nonsense": "not among the latest commits"} {
		if _, refused := s.Change("prod", id); refused == nil || refused.Status != http.StatusNotFound ||
			!strings.Contains(refused.Message, want) {
			t.Errorf("%s: %v", id, refused)
		}
	}
	good := w.Status
	for want, change := range map[string]func(*fleet.Status){
		"another replica":   func(s *fleet.Status) { s.Owned = false },
		"no output branch":  func(s *fleet.Status) { s.ForEach = "x/*" },
		"has no commit yet": func(s *fleet.Status) { s.Output = nil },
		"is not in the cache": func(s *fleet.Status) {
			s.Output = &gitsync.OutputStatus{Commit: strings.Repeat("1", 40)}
		},
	} {
		w.Status = good
		change(&w.Status)
		if _, refused := s.History("prod", 1); refused == nil || !strings.Contains(refused.Message, want) {
			t.Errorf("%s: %v", want, refused)
		}
	}
	w.Unknown = true
	if _, refused := s.Change("prod", last.ID); refused == nil || refused.Message != "no such pipeline" {
		t.Error(refused)
	}
}
