package generator_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/manifest"
)

// notAdvised are the codes without an archive in testdata/advice, and why.
func notAdvised() map[diag.Code]string {
	const (
		git      = "comes from Git, from an output branch or from what was rendered before"
		building = "comes from reading or building the inputs, before they are rendered"
		pipeline = "is about the pipeline file; testdata/patches-*.txtar and packages pipelinefile and tenancy have it"
		big      = "needs an input of a megabyte or of thousands of values"
		command  = "a command asks for it, not every render"
		keys     = "needs keys, or the pipeline's settings for what is passed through; internal/cli and " +
			"testdata/passed-through.txtar have it"
		schema  = "the CRDs refuse all that cannot be merged"
		nothing = "says what holds; there is nothing to correct"
	)
	return map[diag.Code]string{
		diag.EmptyInput: building, diag.NoAgent: command, diag.UnreadableFile: building, diag.FileTooLarge: building,
		diag.SymlinkRefused: building,
		diag.PlainManifests: building, diag.BuildFailed: building, diag.BuildRefused: building,
		diag.BuildsNothing: building,
		diag.TooComplex:    big, diag.TooManyDocuments: big, diag.ObjectTooLarge: big, diag.TooManyStages: big,
		diag.TooMuchConfiguration: big,
		diag.PipelineInvalid:      pipeline, diag.PipelineConflict: pipeline, diag.PipelineKept: pipeline,
		diag.PatchFailed:         pipeline,
		diag.PatchMatchesNothing: pipeline, diag.Tenancy: pipeline, diag.NoTenant: pipeline,
		diag.DefaultNamespace: pipeline,
		diag.TestInvalid:      command, diag.InvalidContainer: schema,
		diag.UnneededPermission: command, diag.PodSecurity: command,
		diag.EncryptedSecret: keys, diag.ClearSecret: keys,
		diag.SecretAsEnv: nothing, diag.RuntimeDiffers: nothing, diag.NeededAtStart: nothing,
		diag.SourceUnreachable:    git,
		diag.ChartUnreachable:     git,
		diag.RemoteUnreachable:    git,
		diag.ChartChanged:         git,
		diag.ChartUnverified:      git,
		diag.RemoteUnverified:     git,
		diag.ChartLookup:          git,
		diag.OtherRevision:        git,
		diag.CommitUnsigned:       git,
		diag.CommitUntrusted:      git,
		diag.SourcePathMissing:    git,
		diag.VanishedHeld:         git,
		diag.ImmutableField:       git,
		diag.Drift:                git,
		diag.DeletionGuard:        git,
		diag.AdoptionRefused:      git,
		diag.OutputContested:      git,
		diag.AdoptionCollision:    git,
		diag.NoteRefused:          git,
		diag.SubmoduleRefused:     git,
		diag.LFSPointer:           git,
		diag.SourceIgnoreUnusable: git,
		diag.SecretsHeld:          git,
		diag.SecretsInHistory:     git,
		diag.OtherSealKey:         git,
		diag.InlinedSecretChanged: git,
	}
}

// advised renders manifests beside those of testdata/advice/base.yaml, unless the comment has the line "base: none".
func advised(t *testing.T, comment string, text []byte) diag.List {
	t.Helper()
	c := mistakes{files: []manifest.File{{Path: "input.yaml", Data: text}}, opts: comment}
	if !strings.Contains(comment, "base: none\n") {
		c.files = append(c.files, manifest.File{Path: "base.yaml", Data: read(t, "testdata/advice/base.yaml")})
	}
	return c.render(t)
}

// TestAdvice follows what docs/diagnostics.md says to do about each code: an archive of testdata/advice has an input
// with the code, and what the input becomes when somebody does as it says. That has neither the code nor any error.
func TestAdvice(t *testing.T) {
	for _, info := range diag.Codes() {
		name := filepath.Join("testdata/advice", string(info.Code)+".txtar")
		_, err := os.Stat(name)
		switch reason := notAdvised()[info.Code]; {
		case os.IsNotExist(err) && reason == "":
			t.Errorf("nothing shows that the advice for %s works", info.Code)
			continue
		case os.IsNotExist(err):
			continue
		case reason != "":
			t.Errorf("%s has an archive and a reason why it has none", info.Code)
		}
		t.Run(string(info.Code), func(t *testing.T) {
			t.Parallel()
			archive, err := txtar.ParseFile(name)
			if err != nil {
				t.Fatal(err)
			}
			found := false
			for _, f := range archive.Files {
				for _, d := range advised(t, string(archive.Comment), f.Data) {
					found = found || f.Name == "bad.yaml" && d.Code == info.Code
					if f.Name == "fixed.yaml" && (d.Code == info.Code || d.Severity == diag.Error) {
						t.Errorf("fixed.yaml: %s", d)
					}
				}
			}
			if !found {
				t.Errorf("bad.yaml has no finding %s: %v", info.Code,
					advised(t, string(archive.Comment), archive.Files[0].Data))
			}
		})
	}
}
