package scaffold

import (
	_ "embed"
	"path"
)

//go:embed files/overlay.yaml
var overlay []byte

// Overlay returns a folder with a GrafanaAgent that selects everything in all namespaces. It is a kustomization, so
// that it can be read beside what Flux or Argo CD applies.
func Overlay(folder string) []File {
	return []File{
		{Path: path.Join(folder, "kustomization.yaml"), Data: []byte("resources: [agent.yaml]\n")},
		{Path: path.Join(folder, "agent.yaml"), Data: overlay},
	}
}
