package initialize

import (
	"fmt"
	"path"

	"github.com/agentry-dev/agentry/internal/scaffold"
)

// argocdPlugin writes the files by which Argo CD runs agentry as a config management plugin, and says how to apply
// them.
func (i initializer) argocdPlugin(at place) error {
	files, err := scaffold.ArgoCDPlugin(at.folder)
	if err != nil {
		return err
	}
	if _, err := write(at.top, scaffold.Options{}, files); err != nil {
		return err
	}
	for _, f := range files {
		fmt.Fprintf(i.Stdout, "wrote %-32s %s\n", f.Path, f.Says)
	}
	folder := path.Join(at.folder, "argocd-plugin")
	_, err = fmt.Fprintf(i.Stdout, `
Name %[1]s in the components of Argo CD's kustomization. Or apply it:

  kubectl -n argocd apply -f %[1]s/plugin.yaml
  kubectl -n argocd patch deployment argocd-repo-server --patch-file %[1]s/repo-server.yaml

Then an Application renders with spec.source.plugin.name: agentry.
`, folder)
	return err
}
