package diag

// Codes of pods.
const (
	MountConflict  Code = "mount-conflict"
	FileNotMounted Code = "file-not-mounted"
	PodWarning     Code = "pod-warning"
	PodSecurity    Code = "pod-security"
)

// podCodes documents what is found in what pods are made of.
func podCodes() []CodeInfo {
	return []CodeInfo{
		{MountConflict, "Two volumes of an integrations pod have the same mount path, or two volumes of an " +
			"integration have the same name.",
			"All integrations of a GrafanaAgent that run once share a pod, and so do those that run on every node. " +
				"Mount one of the two at another path."},
		{FileNotMounted, "The configuration of an integration names a file that its pod does not have.",
			"The path is where files of spec.secrets and spec.configMaps are mounted, but the file is in none of " +
				"them. Integrations read such files when they start, and one that fails keeps the agent from " +
				"starting. List the Secret or ConfigMap, or correct the path."},
		{PodWarning, "Kubernetes accepts a field of the pods with a warning, because it does not do what it says.",
			"Flux and Argo CD do not show such warnings. An affinity or a spread constraint without a labelSelector " +
				"selects no pod: write one, or an empty one for all pods. Two containers of a pod cannot listen on " +
				"the same port, and of two ports with the same name probes and Services find only one. Memory of " +
				"400m is less than a byte, and no container starts with it: write 400M or 400Mi."},
		{PodSecurity, "The level of the Pod Security Standards that `agentry check --pss` names forbids a field of a " +
			"rendered pod.",
			"A namespace that enforces the level refuses such pods. Set the field by a patch of the pipeline or in " +
				"the GrafanaAgent, or render what needs it into a namespace that allows more. Nothing else looks at " +
				"the level."},
	}
}
