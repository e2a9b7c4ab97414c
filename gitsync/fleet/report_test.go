package fleet

import (
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/gitsync"
	"github.com/agentry-dev/agentry/gitsync/branch"
	"github.com/agentry-dev/agentry/gitsync/pipeline"
	"github.com/agentry-dev/agentry/gitsync/plan"
)

func TestStatusInJSON(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newTestbed(t)
		w.push(urlA, "1")
		w.during = func(p *fakePasser) (*gitsync.Report, error) {
			w.mu.Lock()
			defer w.mu.Unlock()
			report := p.report()
			bad := diag.Diagnostic{Severity: diag.Error, Code: diag.InvalidSetting, Message: "is wrong",
				File: "in/a.yaml", Line: 3, Column: 1,
				Object: diag.Object{Kind: "ServiceMonitor", Namespace: "a", Name: "web"}}
			report.Diags = diag.List{{Severity: diag.Warning, Code: diag.NoteRefused, Message: "a note"}, bad}
			report.Units = []gitsync.UnitStatus{{Name: "a/agent", State: plan.UnitHeld, Reason: "spec is wrong"},
				{Name: "b/agent", State: plan.UnitRemoved}, {Name: "c/agent", State: plan.UnitPaused}}
			report.Held = []plan.HeldObject{{ID: manifest.ID{Kind: "ServiceMonitor", Namespace: "a", Name: "web"},
				Units: []string{"a/agent"}, State: plan.UnitHeld, As: branch.CommitRef{Commit: "1234"}, Reason: bad}}
			return report, nil
		}
		w.run(def("x", urlA))
		after(2 * time.Second)
		s, _ := w.fleet.Pipeline("x")
		data, err := json.MarshalIndent(s, "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		// Time begins at this moment in a synctest.
		source, commit := hash("1").String(), w.tip(urlA, "env/x").String()
		text := strings.NewReplacer(source, "<source>", commit, "<commit>").Replace(string(data))
		same(t, "status", text, wantStatus)
	})
}

const wantStatus = `{
  "name": "x",
  "origin": "x.yaml:1",
  "suspended": false,
  "owned": true,
  "conditions": [
    {
      "type": "Ready",
      "status": "False",
      "lastTransitionTime": "2000-01-01T00:00:00Z",
      "reason": "BuildFailed",
      "message": "1 object is held at its last good version, 1 unit is held at its last good version; first: in/a.yaml:3:1: ServiceMonitor/a/web: is wrong"
    }
  ],
  "sources": [
    {
      "url": "https://git.example.com/a",
      "ref": "branch main",
      "commit": "<source>",
      "stale": false
    }
  ],
  "output": {
    "url": "https://git.example.com/a",
    "branch": "env/x",
    "path": ".",
    "before": "",
    "commit": "<commit>"
  },
  "units": [
    {
      "name": "a/agent",
      "state": "held",
      "reason": "spec is wrong",
      "files": 0,
      "conditions": [
        {
          "type": "Ready",
          "status": "False",
          "lastTransitionTime": "2000-01-01T00:00:00Z",
          "reason": "BuildFailed",
          "message": "spec is wrong"
        }
      ]
    },
    {
      "name": "c/agent",
      "state": "paused",
      "reason": "",
      "files": 0,
      "conditions": [
        {
          "type": "Ready",
          "status": "True",
          "lastTransitionTime": "2000-01-01T00:00:00Z",
          "reason": "Suspended",
          "message": "kept as it is: its GrafanaAgent is paused"
        }
      ]
    }
  ],
  "held": [
    {
      "kind": "ServiceMonitor",
      "namespace": "a",
      "name": "web",
      "units": [
        "a/agent"
      ],
      "state": "held",
      "as": {
        "commit": "1234",
        "date": "0001-01-01T00:00:00Z"
      },
      "why": {
        "severity": "error",
        "code": "invalid-setting",
        "path": "",
        "message": "is wrong",
        "hint": "",
        "file": "in/a.yaml",
        "line": 3,
        "column": 1,
        "builtBy": "",
        "object": {
          "apiVersion": "",
          "kind": "ServiceMonitor",
          "namespace": "a",
          "name": "web"
        },
        "source": "",
        "units": [],
        "related": []
      },
      "waiting": null
    }
  ],
  "findings": {
    "errors": 1,
    "warnings": 1,
    "infos": 0,
    "first": [
      {
        "severity": "error",
        "code": "invalid-setting",
        "path": "",
        "message": "is wrong",
        "hint": "",
        "file": "in/a.yaml",
        "line": 3,
        "column": 1,
        "builtBy": "",
        "object": {
          "apiVersion": "",
          "kind": "ServiceMonitor",
          "namespace": "a",
          "name": "web"
        },
        "source": "",
        "units": [],
        "related": []
      },
      {
        "severity": "warning",
        "code": "note-refused",
        "path": "",
        "message": "a note",
        "hint": "",
        "file": "",
        "line": 0,
        "column": 0,
        "builtBy": "",
        "object": null,
        "source": "",
        "units": [],
        "related": []
      }
    ]
  },
  "lastPass": {
    "began": "2000-01-01T00:00:00Z",
    "took": "0s",
    "trigger": "start",
    "commit": "<commit>"
  },
  "nextPass": "2000-01-01T00:01:00Z",
  "failures": 0,
  "history": [
    {
      "digest": "sha1:<commit>",
      "firstReconciled": "2000-01-01T00:00:00Z",
      "lastReconciled": "2000-01-01T00:00:00Z",
      "lastReconciledDuration": "0s",
      "lastReconciledStatus": "BuildFailed",
      "totalReconciliations": 1,
      "metadata": {
        "originRevision": "main@sha1:<source>",
        "revision": "env/x@sha1:<commit>"
      }
    }
  ]
}`

func TestFindingsAtTheirLimit(t *testing.T) {
	var list diag.List
	for range gitsync.MaxFindings {
		list = append(list, diag.Diagnostic{Severity: diag.Warning})
	}
	same(t, "shown", len(gitsync.NewFindings(list).First), gitsync.MaxFindings)
	list = append(list, diag.Diagnostic{Severity: diag.Error, Message: "last"})
	got := gitsync.NewFindings(list)
	same(t, "counted", []int{got.Errors, got.Warnings, len(got.First)},
		[]int{1, gitsync.MaxFindings, gitsync.MaxFindings})
	same(t, "errors come first", got.First[0].Message, "last")
}

func TestAPassThatIsRefusedIsStalled(t *testing.T) {
	guard := &diag.Diagnostic{Severity: diag.Error, Code: diag.DeletionGuard, Message: "too many",
		Hint: "say that you mean it"}
	collision := &diag.Diagnostic{Severity: diag.Error, File: "README.md", Message: "is in the way"}
	for name, test := range map[string]struct {
		onInvalid pipeline.OnInvalid
		refused   *diag.Diagnostic
		want      string
	}{
		"nothing is wrong":   {},
		"the deletion guard": {refused: guard, want: "too many; say that you mean it"},
		"a file in the way":  {refused: collision, want: "README.md: is in the way"},
		"an error with onInvalid fail": {onInvalid: pipeline.OnInvalidFail, refused: guard,
			want: "nothing is written, as spec.onInvalid is fail: too many; say that you mean it"},
	} {
		d := def("x", urlA)
		d.Spec.OnInvalid = test.onInvalid
		same(t, name, refusal(&d, &gitsync.Report{Refused: test.refused}), test.want)
	}
}
