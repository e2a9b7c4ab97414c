package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/test/history"
)

// source is a repository with the paths that a pipeline reads.
type source struct {
	remote int
	paths  []string
}

// pipeline is the content of a pipeline file.
type pipeline struct {
	name    string
	sources []source
	output  int  // the remote
	away    bool // the output is the last source's repository
	branch  string
	path    string
	next    bool // changes are proposed
	plain   bool // secrets are written as plaintext
	strict  bool // errors prevent a commit
	forEach bool // one pipeline for each folder of the fleet
}

// The number of remotes, and of pipelines for each; a pipeline with forEach counts once.
const (
	remoteCount        = 5
	pipelinesPerRemote = 10
)

// newPipelines returns the pipelines whose first source is a remote.
func newPipelines(k, remotes, count int) []*pipeline {
	next, after := (k+1)%remotes, (k+2)%remotes
	one := func(n int) []source { return []source{{k, []string{clusterDir(n), sharedDir}}} }
	two := func(n, other int) []source { return append(one(n), source{other, []string{teamFolder}}) }
	all := []*pipeline{
		{sources: one(0)},
		{sources: one(1), next: true},
		{sources: two(2, next)},
		{sources: one(3), path: "a"},
		{sources: one(4), path: "b"},
		{sources: one(5), plain: true},
		{sources: one(0), strict: true},
		{sources: two(6, after), away: true},
		{sources: one(7)},
	}
	special := []*pipeline{
		{forEach: true, sources: []source{{k, []string{"{{ .path.path }}", sharedDir}}}},
		{sources: two(8, next), next: true, path: "deep/down"},
		{sources: two(8, next), next: true, plain: true},
		{sources: one(1), next: true},
		{sources: two(8, after), plain: true},
	}[k%remoteCount]
	all = append(all[:1], append([]*pipeline{special}, all[1:]...)...)
	all = all[:min(count, len(all))]
	for n, p := range all {
		p.name = fmt.Sprintf("p%d-%d", k, n)
		if p.output = k; p.away {
			p.output = p.sources[len(p.sources)-1].remote
		}
		p.branch = "env/" + p.name
		switch {
		case p.path != "" && !p.next:
			p.branch = "together"
		case p.forEach:
			p.name, p.branch = p.name+"-{{ .path.basename }}", "env/"+p.name+"-{{ .path.basename }}"
		}
	}
	return all
}

// of returns the pipeline that forEach makes for a folder.
func (p *pipeline) of(folder string) *pipeline {
	out := *p
	fill := func(text string) string {
		return strings.NewReplacer("{{ .path.path }}", folder, "{{ .path.basename }}", path.Base(folder)).Replace(text)
	}
	out.name, out.branch, out.forEach = fill(p.name), fill(p.branch), false
	out.sources = []source{{p.sources[0].remote, []string{fill(p.sources[0].paths[0]), sharedDir}}}
	return &out
}

// ref returns the output branch, rendered the branch with the latest render, which may be a proposal.
func (p *pipeline) ref() string { return "refs/heads/" + p.branch }

func (p *pipeline) rendered() string {
	switch {
	case !p.next:
		return p.ref()
	case p.path != "":
		return p.ref() + "-next/" + p.path
	}
	return p.ref() + "-next"
}

// file returns the text of the pipeline file.
func (p *pipeline) file(remotes []*remote, secret string, interval time.Duration, suspend bool) string {
	var b strings.Builder
	fmt.Fprintf(&b, "apiVersion: agentry.dev/v1alpha1\nkind: Pipeline\nmetadata: {name: %q}\nspec:\n  interval: %s\n"+
		"  suspend: %v\n  compatibility: %s\n", p.name, interval, suspend, manifest.Operator)
	if p.strict {
		b.WriteString("  onInvalid: fail\n")
	}
	if p.forEach {
		b.WriteString("  forEach: " + fleetDir + "/*\n")
	}
	b.WriteString("  passThrough: {kinds: [" + history.PassThrough + "]}\n  sources:\n")
	for _, s := range p.sources {
		fmt.Fprintf(&b, "  - url: %s\n    ref: {branch: %s}\n    paths: [\"%s\"]\n"+
			"    webhook: {type: generic, secretFile: %s}\n",
			remotes[s.remote].url, inputsBranch, strings.Join(s.paths, `", "`), secret)
	}
	fmt.Fprintf(&b, "  output:\n    url: %s\n    branch: %q\n", remotes[p.output].url, p.branch)
	if p.path != "" {
		fmt.Fprintf(&b, "    path: %s\n", p.path)
	}
	if p.next {
		b.WriteString("    promotion: {mode: next}\n")
	}
	if p.plain {
		b.WriteString("  secrets: {policy: plaintext}\n")
	}
	return b.String()
}

// configuration is the folder of pipeline files.
type configuration struct {
	dir, secret string
	remotes     []*remote
	pipelines   []*pipeline
	broken      *pipeline // the pipeline with a broken file, or nil
}

// name returns the path of a pipeline file.
func (c *configuration) name(p *pipeline) string {
	name, _, _ := strings.Cut(p.name, "-{{")
	return filepath.Join(c.dir, name+".yaml")
}

// put replaces a file atomically, as a careful person would.
func (c *configuration) put(p *pipeline, text string) error {
	temporary := filepath.Join(c.dir, "."+filepath.Base(c.name(p)))
	if err := os.WriteFile(temporary, []byte(text), 0o644); err != nil {
		return err
	}
	return os.Rename(temporary, c.name(p))
}

const shortest = time.Second

// reset writes all files in their good form.
func (c *configuration) reset() error {
	c.broken = nil
	for _, p := range c.pipelines {
		if err := c.put(p, p.file(c.remotes, c.secret, shortest, false)); err != nil {
			return err
		}
	}
	return nil
}

// step repairs a broken file, or changes an interval, suspends, resumes or breaks a pipeline.
func (c *configuration) step(random *rand.Rand) (string, error) {
	p := c.pipelines[random.IntN(len(c.pipelines))]
	if c.broken != nil {
		p = c.broken
	}
	text := p.file(c.remotes, c.secret, shortest+time.Duration(random.IntN(2000))*time.Millisecond, random.IntN(8) == 0)
	what := "rewritten"
	if c.broken == nil && random.IntN(6) == 0 {
		text, what = text[:len(text)/2]+"\t}", "broken"
		c.broken = p
	} else {
		c.broken = nil
	}
	return filepath.Base(c.name(p)) + " " + what, c.put(p, text)
}
