//go:build oracle

package strict

import (
	"net/http"
	"os/exec"
	"testing"
)

// TestWhatClientsTake tests the known behaviour of the real clients, above all that each refuses bad answers, and that
// the old one has the rules of its time.
func TestWhatClientsTake(t *testing.T) {
	const good = `[{"targets":["10.0.0.1:80"],"labels":{"a":"b"}}]`
	headers := http.Header{"Content-Type": {"application/json"}}
	tests := map[string]struct {
		answer
		current, agents bool
	}{
		"a document": {answer{200, headers, []byte(good)}, true, true},
		"no targets": {answer{200, headers, []byte(`[]`)}, true, true},
		"a dash in a label name": {answer{200, headers, []byte(`[{"targets":["x"],"labels":{"a-b":"c"}}]`)},
			true, false},
		"a dot in a label name": {answer{200, headers, []byte(`[{"targets":["x"],"labels":{"a.b":"c"}}]`)},
			true, false},
		"a label name beyond ASCII": {answer{200, headers, []byte(`[{"targets":["x"],"labels":{"ä":"c"}}]`)}, true,
			false},
		"an empty label name": {answer{200, headers, []byte(`[{"targets":["x"],"labels":{"":"c"}}]`)}, false,
			false},
		"a label that is a number": {answer{200, headers, []byte(`[{"targets":["x"],"labels":{"a":1}}]`)}, false,
			false},
		"an unknown field": {answer{200, headers, []byte(`[{"targets":["x"],"stale":"true"}]`)}, false,
			false},
		"a group that is null": {answer{200, headers, []byte(`[null]`)}, false, false},
		"two documents":        {answer{200, headers, []byte(good + good)}, false, false},
		"half a document":      {answer{200, headers, []byte(good[:20])}, false, false},
		"fewer bytes than were promised": {answer{200,
			http.Header{"Content-Type": {"application/json"}, "Content-Length": {"60"}}, []byte(good)}, false, false},
		"nothing": {answer{200, headers, nil}, false, false},
		"a redirect": {answer{302,
			http.Header{"Content-Type": {"application/json"}, "Location": {"/"}}, []byte(`[]`)}, false, false},
		"not ready":    {answer{503, headers, []byte(`[]`)}, false, false},
		"not modified": {answer{304, headers, nil}, false, false},
		"another content type": {answer{200, http.Header{"Content-Type": {"text/plain"}}, []byte(good)},
			false, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			clients, err := clients()
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range clients {
				want := map[string]bool{current: test.current, agents: test.agents}[c.name]
				if v, err := c.ask(test.answer); err != nil || (v.Refused == "") != want {
					t.Errorf("%s: taken should be %t: %+v, %v", c.name, want, v, err)
				}
			}
			if _, err := Read(test.Status, test.Header, test.Body); (err == nil) != (test.current && test.agents) {
				t.Error("we are not as strict:", err)
			}
		})
	}
}

// TestTheOldClientIsTheAgents compares the versions with those that the agent is built with.
func TestTheOldClientIsTheAgents(t *testing.T) {
	versions := func(dir string) string {
		list := exec.Command("go", "list", "-m", "github.com/prometheus/prometheus", "github.com/prometheus/common")
		list.Dir = "../../" + dir
		out, err := list.Output()
		if err != nil {
			t.Fatal(err)
		}
		return string(out)
	}
	if ours, theirs := versions("prometheus/clients/"+agents), versions("agentcheck"); ours != theirs {
		t.Errorf("the client has\n%sthe agent\n%s", ours, theirs)
	}
}

// FuzzClients looks for a document that is accepted here and not by the clients.
func FuzzClients(f *testing.F) {
	for _, seed := range []string{
		`[{"targets":["10.0.0.1:80"],"labels":{"a":"b","__meta_url":"c"}}]`,
		`[{"Targets":["x"],"LABELS":{"a":"\u0000\ud800<\u2028\\"}}]`,
		`[{"targets":["x"],"labels":{"a":"b"},"labels":{"a":"c","d":"e"}}]`, `[{"targets":["x"],"targets":["y"]}]`,
		`[{"targets":["x"],"labels":{"a":"b"},"LABELS":{}}]`, `[{"targets":["x"],"labels":{"a":"b"},"labels":null}]`,
		`[{"targets":["x"],"labels":{"":""},"labels":{}}]`, ` [ {"targets":["x"],"labels":null} ] `,
		`[{"targets":["x"],"labels":{"__address__":"y"}}]`, `[{"targets":[""],"labels":{"a":""}}]`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		header := http.Header{"Content-Type": {"application/json"}}
		groups, err := read(http.StatusOK, header, body)
		if err != nil {
			return
		}
		if err := confirm(http.StatusOK, header, body, groups); err != nil {
			t.Error(err)
		}
	})
}
