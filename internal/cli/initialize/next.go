package initialize

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/agentry-dev/agentry/gitsync/pipeline"
	"github.com/agentry-dev/agentry/internal/scaffold"
)

// next says what was written, what to add to files that are left unchanged, and what to do next.
func next(at place, o scaffold.Options, w written) string {
	var b strings.Builder
	width := 32
	for _, f := range slices.Concat(w.new, w.joined) {
		width = max(width, len(f.Path))
	}
	for _, f := range w.new {
		fmt.Fprintf(&b, "wrote %-*s %s\n", width, f.Path, f.Says)
	}
	for _, f := range w.joined {
		fmt.Fprintf(&b, "added %s to %s\n", o.Dir(), f.Path)
	}
	for _, f := range w.left {
		fmt.Fprintf(&b, "\n%s is left unchanged. Add this to it:\n\n", f.Path)
		for line := range strings.Lines(string(f.Data)) {
			b.WriteString(strings.TrimRight("  "+line, " \n") + "\n")
		}
	}
	b.WriteString("\nLook at it")
	if at.elsewhere() {
		fmt.Fprintf(&b, ", in %s", at.top)
	}
	fmt.Fprintf(&b, ":\n\n  agentry check %s\n  agentry tree %s\n", o.Dir(), o.Dir())
	fmt.Fprintf(&b, "\nPush it to %s of %s, and look what a pass would do:\n\n", o.Branch, o.URL)
	if !at.isRepository {
		fmt.Fprintf(&b, "  git init -b %s\n", o.Branch)
	}
	fmt.Fprintf(&b, "  git add %s\n", strings.Join(places(o, slices.Concat(w.new, w.joined)), " "))
	fmt.Fprintf(&b, "  git commit -m 'Begin with agentry'\n  git push %s HEAD:%s\n", at.remote(o.URL), o.Branch)
	switch o.Repository() {
	case scaffold.Token:
		b.WriteString("  export GIT_TOKEN=...                 # may read and push\n")
	case scaffold.Key:
		b.WriteString("  export GIT_SSH_KEY=\"$(cat KEYFILE)\" GIT_KNOWN_HOSTS=\"$(ssh-keyscan HOST)\"\n")
	}
	fmt.Fprintf(&b, "  agentry sync -f %s --dry-run\n", o.Pipeline())
	b.WriteString("\n" + passes(o))
	b.WriteString(applying(o, w))
	return b.String()
}

// places returns the files, and the folders of the pipeline in their place.
func places(o scaffold.Options, files []scaffold.File) []string {
	var out []string
	for _, f := range files {
		name := f.Path
		switch {
		case o.Folder != "" && pipeline.Within(o.Folder, name):
			name = o.Folder
		case name != o.JobFile() && name != o.Deploys() && name != o.Notifies():
			name, _, _ = strings.Cut(name, "/")
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
func applying(o scaffold.Options, w written) string {
	var b strings.Builder
	switch {
	case o.Deployer == scaffold.NoDeployer:
		fmt.Fprintf(&b, "\nApply %s as it is, and then the branch %s, to the cluster (--flux and --argocd write "+
			"manifests by which these do it):\n\n", o.Paths()[0], o.Output())
		fmt.Fprintf(&b, "  kubectl apply -f %s\n", o.Paths()[0])
	case o.Bootstrap != nil && w.unlisted:
		fmt.Fprintf(&b, "\nAdd %s to the resources of the kustomization in %s, so that Flux applies it.\n",
			path.Base(o.Deploys()), o.Bootstrap.Path)
	case o.Bootstrap != nil:
		fmt.Fprintf(&b, "\nFlux applies %s, and by it the result, because it is in %s.\n", o.Deploys(),
			o.Bootstrap.Path)
	default:
		fmt.Fprintf(&b, "\nLet %s apply it, in the cluster %s:\n\n",
			map[scaffold.Deployer]string{scaffold.Flux: "Flux", scaffold.ArgoCD: "Argo CD"}[o.Deployer], o.Name)
		b.WriteString(readers(o))
		fmt.Fprintf(&b, "  kubectl apply -f %s\n", o.Deploys())
	}
	b.WriteString(telling(o))
	if o.Login == "" {
		return b.String()
	}
	if o.Bootstrap != nil {
		b.WriteString("The agents also need their login:\n\n")
	}
	fmt.Fprintf(&b, "  kubectl -n %s create secret generic %s --from-literal=username=... "+
		"--from-literal=password=...\n", o.Namespace, o.Login)
	return b.String()
}

// telling returns the commands that let the deployer tell agentry serve what it has applied, with the token of its
// --delivery-token-file.
func telling(o scaffold.Options) string {
	switch {
	case o.Serve == "":
		return ""
	case o.Deployer == scaffold.Flux:
		return fmt.Sprintf("\nFlux tells %s what it has applied, with the token of its --delivery-token-file:\n\n"+
			"  kubectl -n %s create secret generic agentry-delivery --from-literal=token=\"$DELIVERY_TOKEN\"\n",
			o.Serve, o.Flux().Namespace)
	}
	return fmt.Sprintf("\nArgo CD tells %s what it has applied, with the token of its --delivery-token-file:\n\n"+
		"  kubectl -n argocd patch secret argocd-notifications-secret --type=merge "+
		"-p '{\"stringData\": {\"agentry-token\": \"'\"$DELIVERY_TOKEN\"'\"}}'\n"+
		"  kubectl apply --server-side -f %s\n", o.Serve, o.Notifies())
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
