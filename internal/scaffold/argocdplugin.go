package scaffold

import (
	"embed"
	"path"
)

//go:embed argocd-plugin
var argocdPlugin embed.FS

// ArgoCDPlugin returns the files by which Argo CD runs agentry as a config management plugin, below a folder:
// a component for the kustomization of Argo CD, the ConfigMap of the plugin, and a patch with its sidecar.
func ArgoCDPlugin(folder string) (out []File, err error) {
	for _, f := range [...]struct{ name, says string }{
		{"kustomization.yaml", "a component for the kustomization of Argo CD"},
		{"plugin.yaml", "the plugin: what Argo CD runs"},
		{"repo-server.yaml", "the sidecar, as a patch of argocd-repo-server"},
	} {
		at := path.Join("argocd-plugin", f.name)
		data, err := argocdPlugin.ReadFile(at)
		if err != nil {
			return nil, err
		}
		out = append(out, File{Path: path.Join(folder, at), Data: data, Says: f.says})
	}
	return out, nil
}
