package cli

import (
	"context"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/agentry-dev/agentry/generator"
	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/hierarchy"
	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/generator/secretref"
	"github.com/agentry-dev/agentry/generator/tenancy"
	"github.com/agentry-dev/agentry/gitsync/pipeline"
	"github.com/agentry-dev/agentry/inputs"
	"github.com/agentry-dev/agentry/inputs/sops"
	"github.com/agentry-dev/agentry/internal/cli/command"
	"github.com/agentry-dev/agentry/internal/cli/display"
	"github.com/agentry-dev/agentry/internal/folder"
	"github.com/agentry-dev/agentry/internal/outdir"
)

// input is the input of the commands that need no Git.
type input struct {
	options generator.Options
	set     *manifest.Set
	// diags are the diagnostics of parsing; rendering adds more.
	diags   diag.List
	ignored map[string]int // objects of kinds that are not read
	read    *folder.Input
	build   inputs.Mode
	folders string // the folders of tenants, if any
	// mayBeEmpty allows input without a manifest or a GrafanaAgent.
	mayBeEmpty bool
}

// load reads the paths of the command line. It skips folders that agentry wrote, so that rendering into a
// folder below the input does not change the next render.
func (e Env) load(ctx context.Context, flags *cli.Context, paths []string) (*input, error) {
	options, err := renderOptions(flags)
	if err != nil {
		return nil, err
	}
	parsing, err := parseOptions(flags)
	if err != nil {
		return nil, err
	}
	mode, err := command.Choice(flags, "build", inputs.Modes())
	if err != nil {
		return nil, err
	}
	if len(paths) == 0 {
		return nil, command.Usagef("name folders or files, . for this folder, or - for standard input",
			"no PATH is given")
	}
	for _, name := range paths {
		if parsing.Tenants.Folders != "" && parsing.Tenants.All == "" && !filepath.IsLocal(name) {
			return nil, command.Usagef("run it at the top of the repository, from where the folders of tenants count",
				"--tenancy: the PATH %s is not below this folder", name)
		}
	}
	cluster, err := clusterOptions(flags)
	if err != nil {
		return nil, err
	}
	sources, err := sourceFolders(flags.StringSlice("source"))
	if err != nil {
		return nil, err
	}
	charts, done := newCharts(cluster)
	defer done()
	workers := sops.NewWorkers(sops.Options{})
	defer workers.Close()
	read, err := folder.Read(ctx, paths, folder.Options{
		Manifest: parsing,
		Build:    mode,
		Sources:  sources,
		Charts:   charts,
		Secrets: &sops.FileDecrypter{Workers: workers, RendersValues: options.Secrets == secretref.Plaintext,
			Lenient: true},
		Stdin: e.Stdin,
		Skip:  outdir.Is,
	})
	if err != nil {
		return nil, err
	}
	in := &input{options: options, set: manifest.NewSet(read.Results...), ignored: map[string]int{}, read: read,
		build: mode, folders: parsing.Tenants.Folders, mayBeEmpty: flags.Bool("allow-empty")}
	if err := in.decrypt(ctx, workers); err != nil {
		return nil, err
	}
	for _, r := range read.Results {
		in.diags = append(in.diags, r.Diags...)
		for kind, n := range r.Ignored {
			in.ignored[kind] += n
		}
	}
	if n := len(read.Charts); n > 0 {
		in.ignored[inputs.IgnoredChart] = n
	}
	return in, nil
}

// decrypt adds the values of encrypted objects that are rendered to the set, with the keys that the program sops would
// find.
func (in *input) decrypt(ctx context.Context, workers *sops.Workers) error {
	decrypter := sops.Decrypter{Workers: workers}
	set, found, err := decrypter.Decrypt(ctx, in.set, in.options.Needs(in.set))
	if err != nil {
		return fmt.Errorf("decrypt Secrets: %w", err)
	}
	in.set, in.diags = set, append(in.diags, found...)
	return nil
}

// sourceFolders reads the flags --source.
func sourceFolders(flags []string) (map[string]string, error) {
	out := map[string]string{}
	for _, flag := range flags {
		i := strings.LastIndex(flag, "=") // a URL may have one too
		if i < 1 || i == len(flag)-1 {
			return nil, command.Usagef("write --source GitRepository/flux-system/apps=../apps",
				"--source %q is not NAME=FOLDER", flag)
		}
		name, at := flag[:i], flag[i+1:]
		if info, err := os.Stat(at); err != nil || !info.IsDir() {
			return nil, command.Usagef("name a folder that is there", "--source %s: %s is not a folder", name, at)
		}
		out[name] = at
	}
	return out, nil
}

// render renders the input, and returns the diagnostics of parsing and of rendering. Empty input is a diagnostic of the
// given severity.
func (in *input) render(empty diag.Severity) *generator.Output {
	out := *generator.Render(in.set, in.options, nil)
	out.Diags = slices.Concat(out.Diags, out.WithoutUnused(in.diags))
	out.Diags = append(out.Diags, tenancy.None(in.folders, in.set, out.Diags)...)
	if !in.mayBeEmpty {
		out.Diags = append(out.Diags, in.empty(&out, empty)...)
	}
	out.Diags.Sort()
	return &out
}

// empty reports paths without a manifest or, if there are none, that there is no GrafanaAgent.
func (in *input) empty(out *generator.Output, severity diag.Severity) (found diag.List) {
	const hint = "--allow-empty accepts it"
	for _, name := range in.read.Empty {
		d := diag.Diagnostic{Severity: severity, Code: diag.EmptyInput, File: name, Message: "holds no manifest",
			Hint: hint}
		if slices.Contains(in.read.Charts, path.Clean(filepath.ToSlash(name))) {
			d.Message, d.Hint = "is a Helm chart, which is not read as manifests",
				"name it in helmCharts of a kustomization; or check what helm template prints"
		}
		found = append(found, d)
	}
	if len(found) == 0 {
		way := "name the folder that has one as well; " + hint
		if in.ignored[pipeline.APIVersion+" "+pipeline.Kind] > 0 && len(in.set.All()) == 0 {
			way = "this is a pipeline file: write -f before it, to read what it names"
		}
		found = out.NoAgent(severity, way)
	}
	return found
}

// text returns an input file for a printer to quote.
func (in *input) text(_, file string) []byte { return in.read.Text(file) }

// summary returns the counts of what was read and rendered.
func (in *input) summary(agents []*hierarchy.Hierarchy) string {
	s := fmt.Sprintf("%s, %s, %s", display.Amount(in.read.Files, "file"), display.Amount(len(in.set.All()), "object"),
		display.Amount(len(agents), "GrafanaAgent"))
	if n := display.Total(in.ignored); n > 0 {
		s += fmt.Sprintf(" (ignored %s of other kinds)", display.Amount(n, "object"))
	}
	if in.build == inputs.Auto {
		s += in.unfollowed()
	}
	if in.read.Hidden > 0 {
		s += fmt.Sprintf(" (.sourceignore hides %s)", display.Amount(in.read.Hidden, "file"))
	}
	return s
}

// unfollowed says which mode follows custom resources that lead to more manifests, if there are any: a repository of
// Flux or Argo CD may give little else.
func (in *input) unfollowed() string {
	for _, of := range [...]struct {
		kinds [][2]string // with the groups
		tool  string
		mode  inputs.Mode
	}{
		{[][2]string{{"kustomize.toolkit.fluxcd.io/", "Kustomization"}, {"helm.toolkit.fluxcd.io/", "HelmRelease"}},
			"Flux", inputs.Flux},
		{[][2]string{{"argoproj.io/", "Application"}, {"argoproj.io/", "ApplicationSet"}}, "Argo CD", inputs.ArgoCD},
	} {
		var found []string
		for _, kind := range of.kinds {
			n := 0
			for ignored, count := range in.ignored {
				if strings.HasPrefix(ignored, kind[0]) && strings.HasSuffix(ignored, " "+kind[1]) {
					n += count
				}
			}
			if n > 0 {
				found = append(found, display.Amount(n, kind[1]))
			}
		}
		if len(found) > 0 {
			return fmt.Sprintf(" (%s of %s not followed; --build %s does it)", strings.Join(found, " and "), of.tool,
				of.mode)
		}
	}
	return ""
}
