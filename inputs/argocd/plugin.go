package argocd

// Plugin is what is built in place of a config management plugin of Argo CD.
//
// +kubebuilder:validation:Enum=kustomize-sops
type Plugin string

// KustomizeSOPS builds the folder's kustomization; SOPS files in it are decrypted where their values are needed, as in
// any other kustomization. This is what ksops does.
const KustomizeSOPS Plugin = "kustomize-sops"

// Plugins returns all values.
func Plugins() []Plugin { return []Plugin{KustomizeSOPS} }

// PluginSource names the plugin that builds a source.
type PluginSource struct {
	Name string `json:"name"`
}

// checkPlugin refuses a source that a plugin builds, unless it is known what to build in its place.
func (b *build) checkPlugin(s *Source) error {
	field := s.Field + ".plugin"
	switch {
	case s.Plugin == nil || b.plugins[s.Plugin.Name] == KustomizeSOPS:
		return nil
	case s.Plugin.Name == "":
		return refused(field, "name the plugin, or commit its output", "agentry does not run plugins")
	}
	name, instead := s.Plugin.Name, string(KustomizeSOPS)
	return refused(field, "if it builds a kustomization and decrypts it with SOPS, as ksops does, set "+
		"spec.build.plugins: {"+name+": "+instead+"} in the pipeline, or --set spec.build.plugins."+name+"="+instead+
		"; otherwise commit its output", "agentry does not run the plugin %.100q", name)
}
