package fleet

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/gitsync"
	"github.com/agentry-dev/agentry/gitsync/pipeline"
	"github.com/agentry-dev/agentry/gitsync/repo"
	"github.com/agentry-dev/agentry/gitsync/repo/store"
	"github.com/agentry-dev/agentry/gitsync/repo/transport"
)

// fakeExpander finds the folders that the testbed says there are.
type fakeExpander struct {
	w    *testbed
	def  *Definition
	repo *repo.Repo
	made []Definition
}

func (w *testbed) newExpander(d *Definition, _ gitsync.Credentials) (templateSyncer, error) {
	r, err := w.pool.Open(transport.Remote{URL: d.Spec.Sources[0].URL})
	w.mu.Lock()
	defer w.mu.Unlock()
	w.open++
	return &fakeExpander{w: w, def: d, repo: r}, err
}

// list says which folders there are.
func (w *testbed) list(pattern, folders string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.folders[pattern] = folders
}

// forEach is a pattern on main of a remote.
func forEach(name, url string, change func(*pipeline.Spec)) Definition {
	d := def(name, url)
	d.Spec.ForEach = "clusters/*"
	d.Expand = func(folders []string) ([]Definition, diag.List) {
		var out []Definition
		for _, folder := range folders {
			child := def(folder, url)
			change(&child.Spec)
			out = append(out, child)
		}
		return out, nil
	}
	return d
}

func (e *fakeExpander) PassSince(context.Context, time.Time) (*gitsync.Report, error) {
	e.w.mu.Lock()
	folders := strings.Fields(e.w.folders[e.def.Metadata.Name])
	commit := e.w.tips[e.repo.URL()]["refs/heads/main"]
	e.w.passes = append(e.w.passes, passed{e.def.Metadata.Name, time.Since(e.w.began)})
	e.w.mu.Unlock()
	if len(folders) == 1 && folders[0] == "!" {
		return nil, fmt.Errorf("read: %w", store.ErrCorrupt)
	}
	made, problems := e.def.Expand(folders)
	e.made = made
	return &gitsync.Report{Pipeline: e.def.Metadata.Name,
		Sources: []gitsync.SourceStatus{{URL: e.repo.URL(), Commit: commit.String()}}, Diags: problems}, nil
}

func (e *fakeExpander) Made() []Definition { return e.made }

func (e *fakeExpander) Refs() []gitsync.RemoteRefs {
	return []gitsync.RemoteRefs{{Repo: e.repo, Refs: []repo.Ref{{Branch: "main", Optional: true}}}}
}
func (e *fakeExpander) SetCredentials(gitsync.Credentials) error { return nil }
func (e *fakeExpander) Forget()                                  {}
func (e *fakeExpander) Size() int64                              { return 0 }
func (e *fakeExpander) Close() {
	e.w.mu.Lock()
	defer e.w.mu.Unlock()
	e.w.open--
	e.repo.Close()
}
