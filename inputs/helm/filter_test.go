package helm

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestWhatIsKept(t *testing.T) {
	docs := []Document{
		{Kind: "ServiceMonitor", Text: "kind: ServiceMonitor\nmetadata:\n  name: a\n"},
		{Kind: "ServiceMonitor", Text: "kind: ServiceMonitor # as it is\nmetadata: {name: b, namespace: other}\n",
			Lookup: true},
		{Kind: "Secret", Text: "kind: Secret\nmetadata: {name: c}\n", Random: true},
		{Kind: "Namespace", Text: "kind: Namespace\nmetadata: {name: d}\n"},
		{Kind: "Deployment", Text: "kind: Deployment\nmetadata: {name: e}\n", Random: true, Lookup: true},
	}
	got := Filter(docs, "apps", func(_, kind string) bool { return kind != "Deployment" })
	first := docs[0]
	first.Text = "kind: ServiceMonitor\nmetadata:\n  name: a\n  namespace: apps\n"
	want := Filtered{Documents: []Document{first, docs[1], docs[3]}, Random: []Document{docs[2]}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
