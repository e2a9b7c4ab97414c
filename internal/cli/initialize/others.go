package initialize

import (
	"bytes"
	"cmp"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/gitsync/pipeline"
	"github.com/agentry-dev/agentry/internal/cli/command"
	"github.com/agentry-dev/agentry/internal/pipelinefile"
	"github.com/agentry-dev/agentry/internal/scaffold"
)

// others are the pipelines that the repository has already.
type others struct {
	top   string // of the repository
	fleet []*pipelinefile.Pipeline
}

// findOthers reads the pipeline files of a repository.
func findOthers(top string) (o others, err error) {
	o.top = top
	if isFolder(top) {
		o.fleet, err = pipelinefile.Below(os.DirFS(top))
	}
	return o, err
}

// except returns the pipelines without those of a file: if it is there, nothing is written anyway.
func (o others) except(file string) others {
	o.fleet = slices.DeleteFunc(slices.Clone(o.fleet), func(p *pipelinefile.Pipeline) bool { return p.File() == file })
	return o
}

// expanded returns the pipelines, with those that forEach makes of the folders that are there, and of a new one.
func (o others) expanded(folder string) (out []*pipelinefile.Pipeline) {
	for _, p := range o.fleet {
		if p.Spec.ForEach == "" {
			out = append(out, p)
			continue
		}
		folders, _ := fs.Glob(os.DirFS(o.top), p.Spec.ForEach) // the pattern is checked already
		folders = slices.DeleteFunc(folders, func(name string) bool { return !isFolder(path.Join(o.top, name)) })
		for in := folder; in != "." && in != ""; in = path.Dir(in) {
			if isMatch, _ := path.Match(p.Spec.ForEach, in); isMatch {
				folders = append(folders, in)
			}
		}
		made, _ := p.Expand(folders) // what is wrong with one is no reason against another
		out = append(out, made...)
	}
	return out
}

// check refuses a pipeline that would get in the way of another one: by its name, its place, or because that one reads
// its inputs. folder is the new one, as people type it.
func (o others) check(options scaffold.Options, mine *pipelinefile.Pipeline, folder string) error {
	fleet := o.expanded(options.Folder)
	for _, p := range fleet {
		overlaps := pipeline.Overlaps([]*pipeline.Pipeline{&p.Pipeline, &mine.Pipeline})
		if len(overlaps) == 0 {
			continue
		}
		what := "is called " + options.Name + " as well"
		if !overlaps[0].SameName {
			what = "writes to " + p.Spec.Output.Branch + ", in the way of " + options.Output()
		}
		return command.Usagef(rename(options, fleet, folder),
			"nothing is written, because pipeline %s (%s) %s: one would delete what the other renders", p.Metadata.Name,
			p.Origin(), what)
	}
	for _, p := range fleet {
		for i, src := range p.Spec.Sources {
			if !reads(src, mine.Spec.Sources[0], options.Inputs()) {
				continue
			}
			return command.Usagef(o.without(options, src, i),
				"nothing is written, because pipeline %s (%s) reads %s: it would render the new GrafanaAgent, too",
				p.Metadata.Name, p.Origin(), options.Inputs())
		}
	}
	return nil
}

// isRead reports whether a pipeline reads a folder of a source.
func (o others) isRead(of pipeline.Source, folder string) bool {
	return slices.ContainsFunc(o.expanded(folder), func(p *pipelinefile.Pipeline) bool {
		return slices.ContainsFunc(p.Spec.Sources, func(src pipeline.Source) bool { return reads(src, of, folder) })
	})
}

// reads reports whether a source has a folder of another one.
func reads(src, of pipeline.Source, folder string) bool {
	return src.SameRef(of) &&
		slices.ContainsFunc(src.Paths, func(in string) bool { return pipeline.Within(path.Clean(in), folder) })
}

// rename says how the new pipeline gets a name that no other one has.
func rename(o scaffold.Options, fleet []*pipelinefile.Pipeline, folder string) string {
	name := strings.ReplaceAll(o.Folder, "/", "-")
	if checkName(name) != nil || slices.ContainsFunc(fleet, func(p *pipelinefile.Pipeline) bool {
		return p.Metadata.Name == name || p.Spec.Output.Branch == "environments/"+name
	}) {
		name = "NAME"
	}
	if folder == "." {
		folder = ""
	}
	return strings.TrimSpace(fmt.Sprintf("give it another name: agentry init --name %s %s", name, folder))
}

// without says how a source leaves out the new folder.
func (o others) without(options scaffold.Options, src pipeline.Source, index int) string {
	var rest []string
	for _, in := range src.Paths {
		in = path.Clean(in)
		if !pipeline.Within(in, options.Inputs()) {
			rest = append(rest, in)
			continue
		}
		entries, _ := os.ReadDir(path.Join(o.top, in)) // it may be new
		for _, e := range entries {
			name := path.Join(in, e.Name())
			isPipeline := slices.ContainsFunc(o.fleet, func(p *pipelinefile.Pipeline) bool { return p.File() == name })
			if !e.IsDir() && manifest.IsManifestPath(e.Name()) && !isPipeline {
				return "name a FOLDER that it does not read" // it has files of its own there
			}
			if e.IsDir() && !strings.HasPrefix(e.Name(), ".") && !pipeline.Within(name, options.Inputs()) {
				rest = append(rest, name)
			}
		}
	}
	if len(rest) == 0 {
		return "name a FOLDER that it does not read"
	}
	return fmt.Sprintf("name the folders that it is to read: spec.sources[%d].paths: [%s]", index,
		strings.Join(rest, ", "))
}

// answers are what init was told for an earlier pipeline, as its files show.
type answers struct {
	runtime, remoteWrite, login string
}

// answers returns those of the first pipeline. Without one they are empty.
func (o others) answers() (a answers) {
	for _, p := range o.fleet {
		a.runtime = cmp.Or(a.runtime, string(p.Spec.Runtime))
		text, err := os.ReadFile(filepath.Join(o.top, filepath.Dir(p.File()), "monitoring", "agent.yaml"))
		if err != nil {
			continue
		}
		for decoder := yaml.NewDecoder(bytes.NewReader(text)); ; {
			var of struct {
				Spec struct {
					RemoteWrite []struct {
						URL       string
						BasicAuth struct{ Username struct{ Name string } } `yaml:"basicAuth"`
					} `yaml:"remoteWrite"`
				}
			}
			if decoder.Decode(&of) != nil {
				break // its end, or a file of somebody else
			}
			if to := of.Spec.RemoteWrite; len(to) == 1 && a.remoteWrite == "" {
				a.remoteWrite, a.login = to[0].URL, to[0].BasicAuth.Username.Name
			}
		}
	}
	return a
}

// job returns the CI system whose job is there already, else the one that the repository's host is likely to have.
func (o others) job(url string) scaffold.Job {
	for _, job := range []scaffold.Job{scaffold.GitHub, scaffold.GitLab} {
		text, err := os.ReadFile(filepath.Join(o.top, scaffold.Options{Job: job}.JobFile()))
		if _, isOurs := scaffold.Join(text, "."); err == nil && (isOurs || bytes.Contains(text, []byte("agentry"))) {
			return job
		}
	}
	return jobFor(url)
}
