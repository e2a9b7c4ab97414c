// Package initialize is the command agentry init: it finds out what is wanted, from flags, from the current Git
// repository and by questions on the terminal, writes the files of package scaffold, and says what to do next.
package initialize

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/urfave/cli/v2"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/gitsync/pipeline"
	"github.com/agentry-dev/agentry/gitsync/repo/transport"
	"github.com/agentry-dev/agentry/inputs/tree"
	"github.com/agentry-dev/agentry/internal/applied"
	"github.com/agentry-dev/agentry/internal/checkout"
	"github.com/agentry-dev/agentry/internal/cli/command"
	"github.com/agentry-dev/agentry/internal/pipelinefile"
	"github.com/agentry-dev/agentry/internal/scaffold"
)

// initializer is the command with what it uses from outside. It asks on Stderr, and only if it is attended.
type initializer struct {
	command.Env
	isAttended bool
	release    scaffold.Release
}

// Command returns the command. isAttended means that somebody is there to answer. The files are for a release.
func Command(env command.Env, isAttended bool, release scaffold.Release) command.Command {
	i := initializer{env, isAttended, release}
	return command.Command{
		Name:  "init",
		Args:  "[FOLDER]",
		Usage: "write a pipeline file and an example hierarchy to begin with",
		Description: `FOLDER, or this folder, is in the Git repository of the inputs. It gets a pipeline file, a
GrafanaAgent that works, the namespaces that the cluster has to have, a CI job, and the manifests by
which Flux or Argo CD applies the result. What is next is printed. For each other cluster, run it
again with another FOLDER: the job that is there runs that pipeline as well, and the first cluster's
runtime and remote write are the defaults. The output branch is environments/ and the NAME of the
pipeline; a NAME or FOLDER that gets in the way of another pipeline is refused.

After flux bootstrap the manifests are written where Flux finds them. A FOLDER that Flux or Argo CD
applies is refused, because the cluster has no CRDs for what is in it.

On a terminal it asks for what no flag says. No file is overwritten: if one is there already,
nothing is written. To a CI job that it did not write it adds nothing: what to add is printed.`,
		Example: "agentry init --url https://git.example.com/a.git --remote-write https://mimir/api/v1/push edge",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "url", Usage: "`URL` of the Git repository (default: that of the remote origin)"},
			&cli.StringFlag{Name: "branch",
				Usage: "`NAME` of the branch of the inputs (default: the current one, or main)"},
			&cli.StringFlag{Name: "name",
				Usage: "`NAME` of the pipeline (default: that of FOLDER or cluster, or prod)"},
			&cli.StringFlag{Name: "namespace", Aliases: []string{"n"}, Value: "monitoring",
				Usage: "`NAME` of the namespace of the agents"},
			&cli.StringFlag{Name: "remote-write", Usage: "`URL` that samples are sent to"},
			&cli.StringFlag{Name: "remote-write-secret",
				Usage: "`NAME` of the Secret with username and password (default: no login)"},
			&cli.StringFlag{Name: "runtime", Value: string(pipeline.RuntimeAlloy),
				Usage: "`PROGRAM` of the pods: alloy, or agent, which ends soon"},
			&cli.StringFlag{Name: "ci",
				Usage: "`SYSTEM` to write a job for: github, gitlab or none (default: the URL's)"},
			&cli.BoolFlag{Name: "flux",
				Usage: "write manifests for Flux (default if there are some)"},
			&cli.BoolFlag{Name: "argocd",
				Usage: "write manifests for Argo CD (default if there are some)"},
			&cli.StringFlag{Name: "serve",
				Usage: "`URL` of agentry serve, for Flux or Argo CD to tell it what is applied"},
			&cli.BoolFlag{Name: "argocd-plugin",
				Usage: "write only the sidecar with which Argo CD itself renders"},
			&cli.BoolFlag{Name: "overlay", Usage: "write only a GrafanaAgent that selects everything, to try it out"},
			&cli.BoolFlag{Name: "yes", Aliases: []string{"y"}, Usage: "ask nothing, and take the defaults"},
		},
		Run: func(_ context.Context, flags *cli.Context, args []string) error {
			if len(args) > 1 {
				return command.Usagef("agentry init --help", "init takes one FOLDER, but was given %d", len(args))
			}
			if flags.Bool("overlay") && len(args) == 0 {
				return command.Usagef("write agentry init --overlay overlay",
					"init --overlay writes a kustomization, and needs a FOLDER for it")
			}
			return i.run(flags, append(args, ".")[0])
		},
	}
}

func (i initializer) run(flags *cli.Context, folder string) error {
	at, err := locate(folder)
	if err != nil {
		return err
	}
	if err := checkPlain(at.folder); at.folder != "" && err != nil {
		return command.Usagef("", "folder %v", err)
	}
	if flags.Bool("overlay") {
		return i.overlay(at, folder)
	}
	if flags.Bool("argocd-plugin") {
		return i.argocdPlugin(at)
	}
	there, err := findOthers(at.top)
	if err != nil {
		return err
	}
	options, applies, err := i.options(flags, at, there)
	if err != nil {
		return err
	}
	files, err := options.Files()
	if err != nil {
		return err
	}
	// Parse reports a wrong branch or URL.
	mine, found := pipelinefile.Parse(options.Pipeline(), files[0].Data)
	if found.HasErrors() {
		return command.Usagef(found[0].Hint, "%s", found[0].Problem())
	}
	there = there.except(options.Pipeline())
	if err := checkUnapplied(at, options, files, applies, func(folder string) bool {
		return there.isRead(mine[0].Spec.Sources[0], folder)
	}); err != nil {
		return err
	}
	if err := there.check(options, mine[0], at.typed(options.Folder)); err != nil {
		return err
	}
	w, err := write(at.top, options, files)
	if err != nil {
		return err
	}
	if options.Bootstrap != nil {
		w.unlisted = !options.Bootstrap.Applies(options.Deploys())
	}
	_, err = io.WriteString(i.Stdout, next(at, options, w))
	return err
}

// options returns the user's choices, from flags and answers, and the folders of the repository that are applied.
func (i initializer) options(flags *cli.Context, at place, there others) (o scaffold.Options,
	applies []applied.Folder, err error) {
	q := questions{flags: flags, out: i.Stderr}
	if i.isAttended && !flags.Bool("yes") {
		q.in = bufio.NewReader(io.LimitReader(i.Stdin, maxAnswersBytes))
	}
	o = scaffold.Options{
		Folder:  at.folder,
		Release: i.release,
		URL:     q.ask("url", "URL of the Git repository", at.origin, checkURL),
		Branch:  q.ask("branch", "Branch of the inputs", cmp.Or(at.branch, "main"), checkPlain),
	}
	if q.err != nil {
		return o, nil, q.err
	}
	if applies, err = at.applies(o); err != nil {
		return o, nil, err
	}
	bootstraps := slices.DeleteFunc(slices.Clone(applies), func(f applied.Folder) bool { return !f.IsBootstrap })
	o.Name = q.ask("name", "Name of the pipeline", nameFor(cmp.Or(at.folder, at.named), bootstraps), checkName)
	o.Namespace = q.ask("namespace", "Namespace of the agents", flags.String("namespace"), checkName)
	before := there.answers()
	o.RemoteWrite = q.ask("remote-write", "URL that samples are sent to", before.remoteWrite, checkRemoteWrite)
	o.Login = q.ask("remote-write-secret", "Secret in the cluster with username and password for it (- for none)",
		cmp.Or(before.login, "-"), checkSecret)
	o.Login = strings.TrimPrefix(o.Login, "-")
	o.Runtime = q.choose("runtime", "What the pods run: alloy or agent",
		cmp.Or(before.runtime, flags.String("runtime")), string(pipeline.RuntimeAgent), string(pipeline.RuntimeAlloy))
	o.Job = scaffold.Job(q.choose("ci", "CI job: github, gitlab or none", string(there.job(o.URL)),
		string(scaffold.GitHub), string(scaffold.GitLab), string(scaffold.NoJob)))
	o.Deployer = q.deployer(applies)
	o.Serve = flags.String("serve")
	if q.err == nil && o.Serve != "" {
		q.err = checkServe(o)
	}
	if o.Deployer == scaffold.Flux {
		o.Bootstrap = bootstrapOf(o, bootstraps)
	}
	return o, applies, q.err
}

// applies returns the folders of the repository that Flux or Argo CD applies.
func (p place) applies(o scaffold.Options) ([]applied.Folder, error) {
	if !isFolder(p.top) {
		return nil, nil
	}
	urls := append(slices.Collect(maps.Values(checkout.Remotes(p.top))), o.URL)
	return applied.Repository{Files: os.DirFS(p.top).(tree.Files), URLs: urls, Branch: o.Branch}.Find()
}

func isFolder(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.IsDir()
}

// bootstrapOf returns the folder that Flux of the pipeline's cluster applies by itself: the one with the pipeline's
// name, or the only one for the only pipeline.
func bootstrapOf(o scaffold.Options, all []applied.Folder) *applied.Folder {
	for i, f := range all {
		if path.Base(f.Path) == o.Name || len(all) == 1 && o.Folder == "" {
			return &all[i]
		}
	}
	return nil
}

// checkUnapplied refuses to write inputs where a tool would apply them, and proposes a folder that no pipeline reads.
func checkUnapplied(at place, o scaffold.Options, files []scaffold.File, applies []applied.Folder,
	isRead func(folder string) bool) error {
	isInput := func(name string) bool { return name == o.Pipeline() || strings.HasPrefix(name, o.Inputs()+"/") }
	for _, folder := range applies {
		for _, f := range files {
			if !isInput(f.Path) || !folder.Applies(f.Path) {
				continue
			}
			hint := "let it apply only a folder of the repository, or put the inputs into another repository"
			for _, free := range []string{"monitoring/" + o.Name, "agentry/" + o.Name} {
				if !isRead(free+"/monitoring") && !slices.ContainsFunc(applies, func(f applied.Folder) bool {
					return f.Applies(free+"/pipeline.yaml") || f.Applies(free+"/monitoring/agent.yaml")
				}) {
					hint = "name another FOLDER: agentry init " + at.typed(free)
					break
				}
			}
			return command.Usagef(hint, "nothing is written, because %s would apply %s, and the cluster has no CRDs "+
				"for it: see %s", folder.ToolName(), f.Path, folder)
		}
	}
	return nil
}

// nameFor returns the name of a pipeline in a folder: that of the folder, or of the cluster's folder of Flux. Two
// pipelines of one name would write to one branch.
func nameFor(folder string, bootstraps []applied.Folder) string {
	if folder == "" && len(bootstraps) == 1 {
		folder = bootstraps[0].Path
	}
	name := path.Base(folder)
	if folder == "" || checkName(name) != nil {
		return "prod"
	}
	return name
}

// jobFor returns the CI system that the repository's host is likely to have.
func jobFor(url string) scaffold.Job {
	switch {
	case strings.Contains(url, "github"):
		return scaffold.GitHub
	case strings.Contains(url, "gitlab"):
		return scaffold.GitLab
	}
	return scaffold.NoJob
}

// plainWords are texts that no shell and no CI system changes.
var plainWords = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9._~/@:%+-]+$`) })

func checkPlain(value string) error {
	if value == "" {
		return errors.New("must not be empty")
	}
	if !plainWords().MatchString(value) {
		return fmt.Errorf("%q has characters that mean something to shells: use letters, digits and . _ / -", value)
	}
	return nil
}

func checkURL(value string) error {
	if _, err := transport.NormaliseURL(value); err != nil {
		return err
	}
	return checkPlain(value)
}

func checkName(value string) error {
	return wrongName(value, diag.LabelName)
}

func checkSecret(value string) error {
	if value == "-" || value == "" {
		return nil
	}
	return wrongName(value, diag.SubdomainName)
}

func wrongName(value string, check func(string) (problem, hint string)) error {
	problem, hint := check(value)
	switch {
	case problem == "":
		return nil
	case hint == "":
		return fmt.Errorf("%q %s", value, problem)
	}
	return fmt.Errorf("%q %s; %s", value, problem, hint)
}

func checkRemoteWrite(value string) error {
	u, err := url.Parse(value)
	switch {
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return errors.New("write it like https://mimir.example.com/api/v1/push")
	case u.User != nil:
		return errors.New("credentials are not in the URL: put them into a Secret, and name it with " +
			"--remote-write-secret")
	}
	return nil
}

// checkServe checks the URL of agentry serve.
func checkServe(o scaffold.Options) error {
	u, err := url.Parse(o.Serve)
	switch {
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || u.RawQuery != "":
		return command.Usagef("write it like https://agentry.example.com", "--serve %q is not the URL of a service",
			o.Serve)
	case o.Deployer == scaffold.NoDeployer:
		return command.Usagef("add --flux or --argocd", "--serve is of use with --flux or --argocd only")
	}
	return nil
}

// written says what became of the files.
type written struct {
	new      []scaffold.File
	joined   []scaffold.File // files of others to which this pipeline was added
	left     []scaffold.File // files of others that are left unchanged
	unlisted bool            // the kustomization of Flux's folder does not list the new file in it
}

// write writes all files, or none if one is there that is not shared with other pipelines.
func write(top string, o scaffold.Options, files []scaffold.File) (w written, err error) {
	if err := os.MkdirAll(top, 0o777); err != nil {
		return w, err
	}
	root, err := os.OpenRoot(top)
	if err != nil {
		return w, err
	}
	defer root.Close() // files are closed already
	var there []string
	for _, f := range files {
		switch _, err := root.Lstat(filepath.FromSlash(f.Path)); {
		case errors.Is(err, fs.ErrNotExist):
			w.new = append(w.new, f)
		case f.Shared:
			if err := w.share(root, o, f); err != nil {
				return w, err
			}
		default:
			there = append(there, f.Path)
		}
	}
	if len(there) > 0 {
		return w, command.Usagef("name a FOLDER that holds none of them",
			"nothing is written, because something is there already: %s", strings.Join(there, ", "))
	}
	for _, f := range w.joined {
		if err := root.WriteFile(filepath.FromSlash(f.Path), f.Data, 0o666); err != nil {
			return w, err
		}
	}
	for _, f := range w.new {
		if err := create(root, filepath.FromSlash(f.Path), f.Data); err != nil {
			return w, err
		}
	}
	return w, nil
}

// share decides what becomes of a CI job that is there already.
func (w *written) share(root *os.Root, o scaffold.Options, f scaffold.File) error {
	text, err := root.ReadFile(filepath.FromSlash(f.Path))
	if err != nil {
		return err
	}
	if data, isOurs := scaffold.Join(text, o.Dir()); isOurs {
		f.Data = data
		w.joined = append(w.joined, f)
	} else {
		w.left = append(w.left, f)
	}
	return nil
}

// create writes a file that is not there.
func create(root *os.Root, name string, data []byte) error {
	if err := root.MkdirAll(filepath.Dir(name), 0o777); err != nil {
		return err
	}
	f, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	return cmp.Or(err, f.Close())
}
