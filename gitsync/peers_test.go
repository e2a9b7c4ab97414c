package gitsync_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"golang.org/x/crypto/ssh"
	"sigs.k8s.io/yaml"

	"github.com/agentry-dev/agentry/gitsync/pipeline"
	"github.com/agentry-dev/agentry/gitsync/signature"
	"github.com/agentry-dev/agentry/test/gittest"
)

// These tests hold what programs like ours were found to do wrong. The comment of each test names
// the issues in which users of those programs report it.

// apart is the lab with a pipeline of its own below a path of the same branch.
func (r *lab) apart(name string) *lab {
	r.t.Helper()
	one := *r
	one.pipeline.Metadata.Name = name
	one.pipeline.Spec.Sources = []pipeline.Source{{URL: "file://" + r.repo.Dir, Ref: pipeline.Ref{Branch: "main"},
		Paths: []string{"in/" + name}}}
	one.pipeline.Spec.Output.Path = "apps/" + name
	one.options.CacheDir = r.t.TempDir()
	return &one
}

// TestPipelinesOfOneBranchKeepEachOthersFiles: argo-cd#24179.
func TestPipelinesOfOneBranchKeepEachOthersFiles(t *testing.T) {
	t.Parallel()
	r := newGitLab(t)
	r.input(twoTeams())
	a, b := r.apart("a"), r.apart("b")
	a.pass()
	b.pass()
	r.input(map[string]string{"in/a/web.yaml": monitor("a", "web", "two")})
	a.pass()
	for _, name := range []string{"apps/a/a/agent/agent.statefulset.yaml", "apps/b/b/agent/agent.statefulset.yaml"} {
		if !r.repo.Has("env:" + name) {
			t.Errorf("%s is gone", name)
		}
	}
}

// TestACommitHoldsAWholeRender: argo-cd#26443. A commit holds all of a render, and
// says what that is.
func TestACommitHoldsAWholeRender(t *testing.T) {
	t.Parallel()
	r := newGitLab(t)
	s := r.syncer()
	r.input(twoTeams())
	r.passOf(s)
	r.input(map[string]string{"in/a/web.yaml": monitor("a", "web", "two"),
		"in/b/web.yaml": monitor("b", "web", "two")})
	r.passOf(s)
	if n := r.repo.Git("rev-list", "--count", "env"); n != "2" {
		t.Errorf("%s commits for two inputs", n)
	}
	for _, unit := range []string{"a/agent", "b/agent"} {
		var inventory struct {
			Files []struct{ Path string }
		}
		if err := json.Unmarshal([]byte(r.file(unit+"/.agentry/inventory")), &inventory); err != nil ||
			len(inventory.Files) == 0 {
			t.Fatal(err)
		}
		for _, f := range inventory.Files {
			if r.file(unit+"/"+f.Path) == "" {
				t.Errorf("%s/%s is empty", unit, f.Path)
			}
		}
	}
	var metadata struct {
		Tree string `json:"agentryTree"`
	}
	if err := json.Unmarshal([]byte(r.file("hydrator.metadata")), &metadata); err != nil {
		t.Fatal(err)
	}
	dir := r.repo.Checkout("env")
	dir.Git("rm", "-q", "hydrator.metadata")
	if got := dir.Git("write-tree"); got != metadata.Tree {
		t.Errorf("git says that the folder without its metadata is %s, and the metadata %s", got, metadata.Tree)
	}
}

// TestALostRaceForTheNotesFailsNoPass: argo-cd#25727, #27835, gitops-promoter#1470. Somebody else moves
// the notes with every push of ours.
func TestALostRaceForTheNotesFailsNoPass(t *testing.T) {
	t.Parallel()
	r := newPromotion(t)
	r.input(twoTeams())
	r.pass()
	r.repo.Hook("update", `case $1 in refs/notes/*) [ -n "$BY_OTHERS" ] || { export BY_OTHERS=1; git update-ref $1 $(git commit-tree -p $1 -m theirs $1^{tree}); exit 1; };; esac`)
	r.input(map[string]string{"in/a/web.yaml": monitor("a", "web", "two")})
	report := r.pass()
	if !report.Proposed.Open() || r.repo.Head("env-next") != report.Proposed.Commit || report.Diags.HasErrors() {
		t.Errorf("%+v %v", report.Proposed, report.Diags)
	}
	r.repo.Hook("update", "exit 0")
	r.isCurrent(r.pass())
}

// TestTheNoteNamesTheSourceWhenNothingChanged: argo-cd#28555, #28556.
func TestTheNoteNamesTheSourceWhenNothingChanged(t *testing.T) {
	t.Parallel()
	r := newPromotion(t)
	r.input(twoTeams())
	first := r.pass()
	source := r.input(map[string]string{"README.md": "words"})
	report := r.pass()
	if report.Proposed.Commit != first.Proposed.Commit || r.note(first.Proposed.Commit) == first.Proposed.DrySHA {
		t.Error("nothing tells that the commit was processed")
	}
	message := r.repo.Git("log", "-1", "--format=%B", r.note(first.Proposed.Commit))
	if !strings.Contains(message, source) {
		t.Errorf("the note leads to\n%s", message)
	}
}

// TestInputsAreVerifiedAndOutputsSigned: argo-cd#28239, #19302.
func TestInputsAreVerifiedAndOutputsSigned(t *testing.T) {
	t.Parallel()
	r := newGitLab(t)
	file, key := keyFile(t)
	r.creds.Verify = []signature.Keyring{{AllowedSigners: []byte("ann@example.com " + key + "\n")}}
	private, _ := gittest.NewSSHKey(t)
	r.creds.Signing = signature.Key{Key: private}
	r.signed(sshSigner(t, file), twoTeams())
	if report := r.pass(); !strings.Contains(r.repo.Git("cat-file", "commit", report.Commit), "BEGIN SSH SIGNATURE") {
		t.Error("the commit is not signed")
	}
	r.input(map[string]string{"in/a/web.yaml": monitor("a", "web", "evil")})
	if report := r.pass(); report.Commit != "" || !report.Diags.HasErrors() {
		t.Errorf("an unsigned commit is rendered: %+v", report)
	}
}

// TestManifestsCarryNoMarksOfFluxOrArgoCD: argo-cd#23815, #24371.
func TestManifestsCarryNoMarksOfFluxOrArgoCD(t *testing.T) {
	t.Parallel()
	manifests := 0
	for name, file := range rendered(t).remote.read("env") {
		if filepath.Ext(name) != ".yaml" || filepath.Base(name) == "kustomization.yaml" {
			continue
		}
		manifests++
		text := file.text
		for _, mark := range []string{"argocd.argoproj.io/tracking-id", "argocd.argoproj.io/instance",
			"kustomize.toolkit.fluxcd.io/name", "kustomize.toolkit.fluxcd.io/namespace"} {
			if strings.Contains(text, mark) {
				t.Errorf("%s holds %s", name, mark)
			}
		}
		var object struct{ Metadata struct{ Namespace string } }
		if err := yaml.Unmarshal([]byte(text), &object); err != nil || object.Metadata.Namespace == "" {
			t.Errorf("%s is in no namespace: %v", name, err)
		}
	}
	if manifests == 0 {
		t.Error("there are no manifests")
	}
}

// TestSwitchingToPromotionNeedsNoCommit: argo-cd#25049.
func TestSwitchingToPromotionNeedsNoCommit(t *testing.T) {
	t.Parallel()
	r := newGitLab(t)
	r.input(twoTeams())
	r.pass()
	r.pipeline.Spec.Output.Promotion.Mode = pipeline.PromoteNext
	r.settled(r.pass())
}

// TestALostRaceIsDetectedByTheRefNotByTheServersMessage: kargo#3071, #5286. Others are faster, and the
// server says so in words that nobody knows.
func TestALostRaceIsDetectedByTheRefNotByTheServersMessage(t *testing.T) {
	t.Parallel()
	r := newGitLab(t)
	r.input(twoTeams())
	r.pass()
	r.repo.Hook("update", `if [ $1 = refs/heads/env ] && [ ! -e raced ]; then touch raced; git update-ref $1 $(git commit-tree -p $1 -m theirs $1^{tree}); echo "xyzzy: incorrect old value provided"; exit 1; fi`)
	r.input(map[string]string{"in/a/web.yaml": monitor("a", "web", "two")})
	report := r.pass()
	if report.Commit == "" || r.repo.Git("log", "-1", "--format=%s", "env~1") != "theirs" {
		t.Errorf("%+v", report)
	}
}

// TestEverythingCommittedIsSigned: kargo#3922, #5840. Everything that is committed
// is signed.
func TestEverythingCommittedIsSigned(t *testing.T) {
	t.Parallel()
	r := newPromotion(t)
	key, public := gittest.NewSSHKey(t)
	r.creds.Signing = signature.Key{Key: key}
	allowed := filepath.Join(t.TempDir(), "allowed_signers")
	if err := os.WriteFile(allowed, append([]byte("agentry@localhost "), ssh.MarshalAuthorizedKey(public)...),
		0o600); err != nil {
		t.Fatal(err)
	}
	r.input(twoTeams())
	r.pass()
	for _, ref := range []string{"env", "env-next", "agentry/inputs", "refs/notes/hydrator.metadata"} {
		if out := r.repo.Git("-c", "gpg.ssh.allowedSignersFile="+allowed, "log", "-1", "--format=%G? %GS", ref); out !=
			"G agentry@localhost" {
			t.Errorf("%s: %s", ref, out)
		}
	}
}

// TestWritersOfOneBranchAllSucceed: image-automation-controller#1090. Regions that write one
// branch at once all get their changes there.
func TestWritersOfOneBranchAllSucceed(t *testing.T) {
	t.Parallel()
	for _, mode := range []pipeline.PromotionMode{pipeline.PromoteDirect, pipeline.PromoteNext} {
		t.Run(string(mode), func(t *testing.T) {
			t.Parallel()
			r := newGitLab(t)
			files := map[string]string{}
			const regions = 5
			for i := range regions {
				name := fmt.Sprintf("r%d", i)
				files["in/"+name+"/agent.yaml"], files["in/"+name+"/web.yaml"] = agent(name), monitor(name, "web",
					"http")
			}
			r.input(files)
			r.repo.Commit("env", map[string]string{"CODEOWNERS": "*"})
			var wg sync.WaitGroup
			for i := range regions {
				one := r.apart(fmt.Sprintf("r%d", i))
				one.pipeline.Spec.Output.Promotion.Mode = mode
				s := one.syncer()
				wg.Go(func() {
					if report, err := s.Pass(t.Context()); err != nil || report.Diags.HasErrors() {
						t.Errorf("%v %+v", err, report.Diags)
					}
				})
			}
			wg.Wait()
			for i := range regions {
				branch := "env"
				if mode == pipeline.PromoteNext {
					branch = fmt.Sprintf("env-next/apps/r%d", i)
				}
				r.repo.Git("cat-file", "-e", fmt.Sprintf("%s:apps/r%d/r%d/agent/agent.statefulset.yaml", branch, i, i))
			}
		})
	}
}

// TestAStaleProposalIsReplaced: image-automation-controller#138, #164, #205, #450.
func TestAStaleProposalIsReplaced(t *testing.T) {
	t.Parallel()
	r := newPromotion(t)
	r.input(twoTeams())
	r.pass()
	r.merge("env-next", false)
	r.input(map[string]string{"in/a/web.yaml": monitor("a", "web", "two")})
	r.proposes(r.pass())
	// Somebody commits the same lines to the output branch, and others to the proposed one.
	r.repo.Commit("env", map[string]string{"a/agent/agent-config.secret.yaml": "theirs"})
	r.repo.Commit("env-next", map[string]string{"a/agent/agent-config.secret.yaml": "theirs too"})
	r.proposes(r.pass())
}
