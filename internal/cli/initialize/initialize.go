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
	"github.com/agentry-dev/agentry/gitsync/repo/transport"
	"github.com/agentry-dev/agentry/internal/cli/command"
	"github.com/agentry-dev/agentry/internal/pipelinefile"
	"github.com/agentry-dev/agentry/internal/scaffold"
)

// Streams are where the command asks and writes. It asks on Stderr, and only if somebody is there to answer.
type Streams struct {
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	Attended       bool
}

// Command returns the command.
func Command(s Streams) command.Command {
	return command.Command{
		Name:  "init",
		Args:  "[FOLDER]",
		Usage: "write a pipeline file and an example hierarchy to begin with",
		Description: `FOLDER, or this folder, is in the Git repository of the inputs. It gets a pipeline file, a
GrafanaAgent that works, what the cluster has to have for it, a CI job, and the manifests by
which Flux or Argo CD applies the result. What is next is printed.

On a terminal it asks for what no flag says. No file is overwritten: if one is there already,
nothing is written. Only a .gitlab-ci.yml that is there is left unchanged, and what to add to it
is printed.`,
		Example: "agentry init --url https://git.example.com/a.git --remote-write https://mimir/api/v1/push edge",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "url", Usage: "`URL` of the Git repository (default: that of the remote origin)"},
			&cli.StringFlag{Name: "branch",
				Usage: "`NAME` of the branch of the inputs (default: the current one, or main)"},
			&cli.StringFlag{Name: "name", Usage: "`NAME` of the pipeline; the output branch is environments/NAME " +
				"(default: that of FOLDER, or prod)"},
			&cli.StringFlag{Name: "namespace", Aliases: []string{"n"}, Value: "monitoring",
				Usage: "`NAME` of the namespace of the agents"},
			&cli.StringFlag{Name: "remote-write", Usage: "`URL` that samples are sent to"},
			&cli.StringFlag{Name: "remote-write-secret",
				Usage: "`NAME` of the Secret in the cluster that has username and password for it (default: no login)"},
			&cli.StringFlag{Name: "ci", Usage: "`SYSTEM` to write a job for: github, gitlab or none (default: that " +
				"of the URL)"},
			&cli.StringFlag{Name: "deploy", Value: string(scaffold.Flux),
				Usage: "`TOOL` that applies the output: flux, argocd or none"},
			&cli.BoolFlag{Name: "argocd-plugin",
				Usage: "write only the sidecar with which Argo CD itself renders, without a branch"},
			&cli.BoolFlag{Name: "yes", Aliases: []string{"y"}, Usage: "ask nothing, and take the defaults"},
		},
		Run: func(ctx context.Context, flags *cli.Context, args []string) error {
			if len(args) > 1 {
				return command.Usagef("agentry init --help", "init takes one FOLDER, but was given %d", len(args))
			}
			return s.run(ctx, flags, append(args, ".")[0])
		},
	}
}

func (s Streams) run(ctx context.Context, flags *cli.Context, folder string) error {
	at, err := locate(ctx, folder)
	if err != nil {
		return err
	}
	if err := checkPlain(at.folder); at.folder != "" && err != nil {
		return command.Usagef("", "folder %v", err)
	}
	if flags.Bool("argocd-plugin") {
		return s.argocdPlugin(at)
	}
	options, err := s.options(flags, at)
	if err != nil {
		return err
	}
	files, err := options.Files()
	if err != nil {
		return err
	}
	// Parse reports a wrong branch or URL.
	if _, found := pipelinefile.Parse(options.Pipeline(), files[0].Data); found.HasErrors() {
		return command.Usagef(found[0].Hint, "%s", found[0].Problem())
	}
	left, err := write(at.top, files)
	if err != nil {
		return err
	}
	return s.next(at, options, files, left)
}

// options returns the user's choices, from flags and answers.
func (s Streams) options(flags *cli.Context, at place) (scaffold.Options, error) {
	q := questions{flags: flags, out: s.Stderr}
	if s.Attended && !flags.Bool("yes") {
		q.in = bufio.NewReader(io.LimitReader(s.Stdin, maxAnswersBytes))
	}
	o := scaffold.Options{
		Folder: at.folder,
		URL:    q.ask("url", "URL of the Git repository", at.origin, checkURL),
		Branch: q.ask("branch", "Branch of the inputs", cmp.Or(at.branch, "main"), checkPlain),
		Name:   q.ask("name", "Name of the pipeline", nameFor(at.folder), checkName),
	}
	o.Namespace = q.ask("namespace", "Namespace of the agents", flags.String("namespace"), checkName)
	o.RemoteWrite = q.ask("remote-write", "URL that samples are sent to", "", checkRemoteWrite)
	o.Login = q.ask("remote-write-secret", "Secret in the cluster with username and password for it (- for none)", "-",
		checkSecret)
	o.Login = strings.TrimPrefix(o.Login, "-")
	o.Job = scaffold.Job(q.choose("ci", "CI job: github, gitlab or none", string(jobFor(o.URL)),
		string(scaffold.GitHub), string(scaffold.GitLab), string(scaffold.NoJob)))
	o.Deployer = scaffold.Deployer(q.choose("deploy", "What applies the output: flux, argocd or none",
		flags.String("deploy"), string(scaffold.Flux), string(scaffold.ArgoCD), string(scaffold.NoDeployer)))
	return o, q.err
}

// nameFor returns the name of a pipeline in a folder. Two pipelines of one name would write to one branch.
func nameFor(folder string) string {
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

// write writes all files, or none if one is there that is not shared with other pipelines. It returns those that it
// left unchanged.
func write(top string, files []scaffold.File) (left []scaffold.File, err error) {
	if err := os.MkdirAll(top, 0o777); err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(top)
	if err != nil {
		return nil, err
	}
	defer root.Close() // files are closed already
	var there []string
	var missing []scaffold.File
	for _, f := range files {
		switch _, err := root.Lstat(filepath.FromSlash(f.Path)); {
		case errors.Is(err, fs.ErrNotExist):
			missing = append(missing, f)
		case f.Shared:
			left = append(left, f)
		default:
			there = append(there, f.Path)
		}
	}
	if len(there) > 0 {
		return nil, command.Usagef("name a FOLDER that holds none of them; --ci none and --deploy none leave files out",
			"nothing is written, because something is there already: %s", strings.Join(there, ", "))
	}
	for _, f := range missing {
		if err := create(root, filepath.FromSlash(f.Path), f.Data); err != nil {
			return nil, err
		}
	}
	return left, nil
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

// next prints what was written, what to add to files that are left unchanged, and what to do next.
func (s Streams) next(at place, o scaffold.Options, files, left []scaffold.File) error {
	var b strings.Builder
	width := 32
	for _, f := range files {
		width = max(width, len(f.Path))
	}
	for _, f := range files {
		if !slices.ContainsFunc(left, func(l scaffold.File) bool { return l.Path == f.Path }) {
			fmt.Fprintf(&b, "wrote %-*s %s\n", width, f.Path, f.Says)
		}
	}
	for _, f := range left {
		fmt.Fprintf(&b, "\n%s is left unchanged. Add this to it; of an include that it has already, "+
			"only the paths:\n\n", f.Path)
		for line := range strings.Lines(string(f.Data)) {
			b.WriteString(strings.TrimRight("  "+line, " \n") + "\n")
		}
	}
	paths := strings.Join(o.Paths(), " ")
	b.WriteString("\nLook at it")
	if at.elsewhere {
		fmt.Fprintf(&b, ", in %s", at.top)
	}
	fmt.Fprintf(&b, ":\n\n  agentry check %s\n  agentry tree %s\n", paths, paths)
	fmt.Fprintf(&b, "\nPush it to %s of %s, and look what a pass would do:\n\n", o.Branch, o.URL)
	if o.Folder == "" {
		b.WriteString("  git add .\n")
	} else {
		fmt.Fprintf(&b, "  git add %s\n", strings.Join(tops(files), " "))
	}
	fmt.Fprintf(&b, "  git commit -m 'Begin with agentry'\n  git push origin HEAD:%s\n", o.Branch)
	switch o.Repository() {
	case scaffold.Token:
		b.WriteString("  export GIT_TOKEN=...                 # may read and push\n")
	case scaffold.Key:
		b.WriteString("  export GIT_SSH_KEY=\"$(cat KEYFILE)\" GIT_KNOWN_HOSTS=\"$(ssh-keyscan HOST)\"\n")
	}
	fmt.Fprintf(&b, "  agentry sync -f %s --dry-run\n", o.Pipeline())
	b.WriteString("\n" + passes(o))
	b.WriteString(applying(o))
	_, err := io.WriteString(s.Stdout, b.String())
	return err
}

// tops returns the first parts of the paths, or the folder that they share.
func tops(files []scaffold.File) []string {
	var out []string
	for _, f := range files {
		name := f.Path
		if first, _, nested := strings.Cut(name, "/"); nested {
			name = first
		}
		if !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out
}

// passes explains what will make passes.
func passes(o scaffold.Options) string {
	switch o.Job {
	case scaffold.GitHub:
		if o.Repository() == scaffold.Key {
			return "The job makes a pass on each push. It needs the secret GIT_SSH_KEY and the variable " +
				"GIT_KNOWN_HOSTS.\n"
		}
		return "The job makes a pass on each push, with the token that GitHub gives it.\n"
	case scaffold.GitLab:
		if o.Repository() == scaffold.Key {
			return "The job makes a pass on each push. It needs the CI/CD variables GIT_SSH_KEY and GIT_KNOWN_HOSTS.\n"
		}
		return "The job makes a pass on each push. It needs the CI/CD variable GIT_TOKEN: a project access token " +
			"with write_repository.\n"
	}
	return fmt.Sprintf("Without --dry-run it pushes to %s. agentry serve -f %s does so after each change.\n",
		o.Output(), o.Pipeline())
}

// applying says how the output gets into the cluster.
func applying(o scaffold.Options) string {
	var b strings.Builder
	if o.Deployer == scaffold.NoDeployer {
		fmt.Fprintf(&b, "\nApply %s as it is, and then the branch %s, to the cluster:\n\n",
			path.Join(o.Folder, "cluster"), o.Output())
		fmt.Fprintf(&b, "  kubectl apply -f %s\n", path.Join(o.Folder, "cluster"))
	} else {
		fmt.Fprintf(&b, "\nLet %s apply it:\n\n",
			map[scaffold.Deployer]string{scaffold.Flux: "Flux", scaffold.ArgoCD: "Argo CD"}[o.Deployer])
		b.WriteString(readers(o))
		fmt.Fprintf(&b, "  kubectl apply -f %s\n", o.Deploys())
	}
	if o.Login != "" {
		fmt.Fprintf(&b, "  kubectl -n %s create secret generic %s --from-literal=username=... "+
			"--from-literal=password=...\n", o.Namespace, o.Login)
	}
	return b.String()
}

// readers returns the command that gives the deployer a login, if the repository has one.
func readers(o scaffold.Options) string {
	type access struct {
		by    scaffold.Deployer
		login scaffold.Login
	}
	switch (access{o.Deployer, o.Repository()}) {
	case access{scaffold.Flux, scaffold.Token}:
		return "  kubectl -n flux-system create secret generic git-read --from-literal=username=flux " +
			"--from-literal=password=\"$GIT_READ_TOKEN\"\n"
	case access{scaffold.Flux, scaffold.Key}:
		return "  kubectl -n flux-system create secret generic git-read --from-file=identity=KEYFILE " +
			"--from-literal=known_hosts=\"$GIT_KNOWN_HOSTS\"\n"
	case access{scaffold.ArgoCD, scaffold.Token}:
		return "  kubectl -n argocd create secret generic monitoring --from-literal=type=git --from-literal=url=" +
			o.URL + " --from-literal=username=argocd --from-literal=password=\"$GIT_READ_TOKEN\"\n" + argocdLabel
	case access{scaffold.ArgoCD, scaffold.Key}:
		return "  kubectl -n argocd create secret generic monitoring --from-literal=type=git --from-literal=url=" +
			o.URL + " --from-file=sshPrivateKey=KEYFILE\n" + argocdLabel
	}
	return ""
}

const argocdLabel = "  kubectl -n argocd label secret monitoring argocd.argoproj.io/secret-type=repository\n"
