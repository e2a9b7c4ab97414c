package doctor

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/agentry-dev/agentry/gitsync/pipeline"
	"github.com/agentry-dev/agentry/inputs/tree"
	"github.com/agentry-dev/agentry/internal/applied"
	"github.com/agentry-dev/agentry/internal/checkout"
	"github.com/agentry-dev/agentry/internal/lazyregexp"
	"github.com/agentry-dev/agentry/internal/pipelinefile"
)

// maxInputBytes limits the files in which custom resources are looked for.
const maxInputBytes = 1 << 20

// ours matches the start of a custom resource that a cluster with Flux or Argo CD does not know.
var ours = lazyregexp.New(`"?apiVersion"?: *["']?(monitoring\.(grafana|coreos)\.com|agentry\.dev)/`)

// branches warns about an output branch that a pipeline reads: each pass would make it run again, and whoever may push
// one may push the other.
func branches(p *pipelinefile.Pipeline, fleet []*pipelinefile.Pipeline) (results []Result) {
	for _, reader := range fleet {
		for i, src := range reader.Spec.Sources {
			if src.Ref.Branch == "" || src.Ref.Branch != p.Spec.Output.Branch ||
				!pipeline.SameRepository(src.URL, p.Spec.Output.URL) {
				continue
			}
			of := fmt.Sprintf("spec.sources[%d]", i)
			if reader != p {
				of += " of pipeline " + reader.Metadata.Name
			}
			results = append(results, warned(checkLayout, "spec.output.branch",
				fmt.Sprintf("%s is also the branch that %s reads: every push of agentry is a new input",
					p.Spec.Output.Branch, of),
				"write to a branch of its own, such as environments/"+p.Metadata.Name))
		}
	}
	return results
}

// anAgent matches a GrafanaAgent in a file.
var anAgent = lazyregexp.New(`(?m)^"?kind"?: *["']?GrafanaAgent\b`)

// readers warns about a pipeline that reads all GrafanaAgents of another one besides its own: both render them. Two
// pipelines that read the same ones are for two clusters.
func readers(p *pipelinefile.Pipeline, fleet []*pipelinefile.Pipeline) (results []Result) {
	mine := agentsOf(p)
	for _, other := range fleet {
		theirs := agentsOf(other)
		if other == p || len(theirs) == 0 || len(theirs) >= len(mine) ||
			slices.ContainsFunc(theirs, func(name string) bool { return !slices.Contains(mine, name) }) {
			continue
		}
		results = append(results, warned(checkLayout, "spec.sources[].paths",
			fmt.Sprintf("%s is read here and by pipeline %s: both render its GrafanaAgent", theirs[0],
				other.Metadata.Name),
			"name only the folders of this pipeline"))
	}
	return results
}

// agentsOf returns the files in the checkout with GrafanaAgents that a pipeline reads from its branch.
func agentsOf(p *pipelinefile.Pipeline) (found []string) {
	top, urls := checkoutOf(p)
	for _, src := range p.Spec.Sources {
		if top == "" || !isAt(top, urls, src) {
			continue
		}
		for _, name := range matching(os.DirFS(top).(tree.Files), src.Paths, anAgent) {
			if !slices.Contains(found, name) {
				found = append(found, name)
			}
		}
	}
	return found
}

// checkoutOf returns the checkout that a pipeline file is in, or "", and the URLs of its repository.
func checkoutOf(p *pipelinefile.Pipeline) (top string, urls []string) {
	folder, err := filepath.Abs(filepath.Dir(p.File()))
	if err != nil {
		return "", nil
	}
	if top = checkout.Top(folder); top == "" {
		return "", nil
	}
	return top, append(slices.Collect(maps.Values(checkout.Remotes(top))), "file://"+filepath.ToSlash(top))
}

// isAt reports whether a checkout with URLs is of a source, at its branch.
func isAt(top string, urls []string, src pipeline.Source) bool {
	branch := checkout.Branch(top)
	return (branch == "" || branch == src.Ref.Branch) && slices.ContainsFunc(urls, func(url string) bool {
		return pipeline.SameRepository(url, src.URL)
	})
}

// folders warns about folders of the sources that Flux or Argo CD applies, and that hold custom resources for agentry.
// It looks into the checkout that the pipeline file is in, if that is at the branch of a source: of other repositories
// only refs are asked for.
func folders(p *pipelinefile.Pipeline) (results []Result) {
	top, urls := checkoutOf(p)
	for i, src := range p.Spec.Sources {
		if top == "" || !isAt(top, urls, src) {
			continue
		}
		at := fmt.Sprintf("spec.sources[%d].paths", i)
		files := os.DirFS(top).(tree.Files)
		found, err := applied.Repository{Files: files, URLs: urls, Branch: src.Ref.Branch}.Find()
		if err != nil {
			results = append(results, skipped(checkLayout, at, err.Error(), ""))
			continue
		}
		results = append(results, appliedInputs(at, files, src.Paths, found)...)
	}
	return results
}

// appliedInputs returns a result for each applied folder that holds inputs, and one if there is none.
func appliedInputs(at string, files tree.Files, paths []string, found []applied.Folder) (results []Result) {
	held := matching(files, paths, ours)
	for _, f := range found {
		of := slices.DeleteFunc(slices.Clone(held), func(name string) bool { return !f.Applies(name) })
		if len(of) == 0 {
			continue
		}
		what := of[0]
		if more := len(of) - 1; more > 0 {
			what += fmt.Sprintf(" and %d more", more)
		}
		results = append(results, warned(checkLayout, at, fmt.Sprintf("%s applies %s, which hold custom resources for "+
			"agentry: %s fails, unless the cluster has their CRDs, and an operator there would render them too",
			f, what, f.ToolName()), "move them to a folder that nothing applies"))
	}
	if len(results) == 0 {
		results = append(results, ok(checkLayout, at,
			"neither Flux nor Argo CD applies inputs, as far as the checkout shows"))
	}
	return results
}

// matching returns the manifests below some paths with a text that matches.
func matching(files tree.Files, paths []string, pattern *lazyregexp.Regexp) (found []string) {
	for _, p := range paths {
		_ = fs.WalkDir(files, path.Clean(p), func(name string, d fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return nil //nolint:nilerr // a pass reports what cannot be read
			case d.IsDir() && name != path.Clean(p) && strings.HasPrefix(d.Name(), "."):
				return fs.SkipDir
			case !d.Type().IsRegular() || !slices.Contains([]string{".yaml", ".yml", ".json"}, path.Ext(name)):
				return nil
			}
			if info, err := d.Info(); err != nil || info.Size() > maxInputBytes {
				return nil //nolint:nilerr // as above
			}
			text, err := files.ReadFile(name)
			if err == nil && pattern.Match(text) {
				found = append(found, name)
			}
			return nil
		})
	}
	return found
}
