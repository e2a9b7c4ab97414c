package rbac

import (
	"strings"

	"github.com/agentry-dev/agentry/generator/model"
)

// handWritten adds the needs of a hand-written job. The job has been checked, so a field that cannot be decoded has a
// variable in it, and counts as absent.
func (n *needs) handWritten(raw *model.Raw) {
	var job struct {
		SDs []struct {
			APIServer  string `yaml:"api_server"`
			Kubeconfig string `yaml:"kubeconfig_file"`
			Role       string `yaml:"role"`
			Namespaces struct {
				Own   bool     `yaml:"own_namespace"`
				Names []string `yaml:"names"`
			} `yaml:"namespaces"`
			Attach struct {
				Node bool `yaml:"node"`
			} `yaml:"attach_metadata"`
		} `yaml:"kubernetes_sd_configs"`
		Token         string `yaml:"bearer_token_file"`
		Authorization struct {
			File string `yaml:"credentials_file"`
		} `yaml:"authorization"`
		Path    string `yaml:"metrics_path"`
		Relabel []struct {
			Target      string `yaml:"target_label"`
			Replacement string `yaml:"replacement"`
		} `yaml:"relabel_configs"`
	}
	_ = raw.Job.Decode(&job) // fills all fields except the ones of a wrong type
	by := raw.Origin.Object
	for _, sd := range job.SDs {
		if sd.APIServer == "" && sd.Kubeconfig == "" {
			n.discovered(by, discovery{role: sd.Role, namespaces: sd.Namespaces.Names, own: sd.Namespaces.Own,
				nodes: sd.Attach.Node})
		}
	}
	if job.Token != tokenFile && job.Authorization.File != tokenFile {
		return
	}
	behindAPI := false
	for _, r := range job.Relabel {
		behindAPI = behindAPI || r.Target == pathLabel && strings.HasPrefix(r.Replacement, nodesOfAPI)
	}
	n.scraped(by, job.Path, behindAPI)
}
