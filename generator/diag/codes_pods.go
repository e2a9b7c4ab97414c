package diag

// Codes of pods.
const (
	MountConflict  Code = "mount-conflict"
	FileNotMounted Code = "file-not-mounted"
	PodWarning     Code = "pod-warning"
)

// podCodes documents what is found in what pods are made of.
func podCodes() []CodeInfo {
	return []CodeInfo{
		{MountConflict, "Two volumes are to be mounted at one path of an integrations pod, or have one name in one integration.",
			"All integrations of a GrafanaAgent that run once share a pod, and so do those that run on every node. Mount one of the two at another path."},
		{FileNotMounted, "The configuration of an integration names a file that its pod does not have.",
			"The path is one of those where the files of spec.secrets and spec.configMaps are found, and nothing puts the file there. Integrations read such files when they start, and one that fails keeps the agent from starting. List the Secret or ConfigMap, or correct the path."},
		{PodWarning, "A field of the pods that Kubernetes takes with a warning, for it does not do what it says.",
			"Flux and Argo CD do not show such warnings. An affinity or a spread constraint without a labelSelector is about no pod: write one, or an empty one for all pods. Two containers of a pod cannot listen on one port, and of two ports of one name probes and Services find one. Memory of 400m is less than a byte, and no container starts with it: write 400M or 400Mi."},
	}
}
