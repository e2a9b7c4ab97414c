package compile

import (
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/agentry-dev/agentry/generator/api/v1alpha1"
	"github.com/agentry-dev/agentry/generator/compile/integration"
	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/internal/podspec"
	"github.com/agentry-dev/agentry/generator/model"
	"github.com/agentry-dev/agentry/generator/secretref"
)

// checkMounted reports files of Secrets and ConfigMaps that the configuration names and the pods do not mount.
func (c integrationChecks) checkMounted(r running, extras podspec.Extras) {
	eachText("spec.config", r.Config, func(path, text string) {
		inFolder := func(dir string) bool { return strings.HasPrefix(text, dir+"/") }
		if !slices.ContainsFunc([]string{secretref.FilesDir, secretref.SecretsDir, secretref.ConfigMapsDir},
			inFolder) || strings.Contains(text, "$") {
			return
		}
		own := func(m corev1.VolumeMount) bool {
			return strings.HasPrefix(text, strings.TrimSuffix(m.MountPath, "/")+"/")
		}
		if !extras.MayHaveFile(text) && !slices.ContainsFunc(agentMounts(c.hierarchy.Spec()), own) {
			c.report.about(r.object, diag.FileNotMounted.At(r.place(path), "%s",
				text+" is not in the pod: nothing that is mounted has it").
				WithHint("list it in spec.secrets or spec.configMaps, or correct the path").
				With(c.hierarchy.Agent.Ref()))
		}
	})
}

// agentMounts returns the mounts that the GrafanaAgent adds to its agent container.
func agentMounts(spec *v1alpha1.GrafanaAgentSpec) []corev1.VolumeMount {
	out := slices.Clip(spec.VolumeMounts)
	for i := range spec.Containers {
		if spec.Containers[i].Name == agentContainer {
			out = append(out, spec.Containers[i].VolumeMounts...)
		}
	}
	return out
}

// podOf returns the environment variables and the mounts of a GrafanaAgent's agent container.
func podOf(spec *v1alpha1.GrafanaAgentSpec) (p model.Pod) {
	for i := range spec.Containers {
		if c := &spec.Containers[i]; c.Name == agentContainer {
			p.AnyEnv = p.AnyEnv || len(c.EnvFrom) > 0
			for n := range c.Env {
				p.Env = append(p.Env, c.Env[n].Name)
			}
		}
	}
	p.Mounts = []string{secretref.Dir, podspec.DataDir, "/var/run/secrets/kubernetes.io/serviceaccount"}
	for _, m := range agentMounts(spec) {
		p.Mounts = append(p.Mounts, m.MountPath)
	}
	for _, name := range spec.Secrets {
		p.Mounts = append(p.Mounts, podspec.ExtraSecretsDir+name)
	}
	for _, name := range spec.ConfigMaps {
		p.Mounts = append(p.Mounts, podspec.ExtraConfigMapsDir+name)
	}
	return p
}

// eachText calls f for every string in a configuration, with its path.
func eachText(path string, v model.Value, f func(path, text string)) {
	switch v := v.(type) {
	case model.Map:
		for _, p := range v {
			eachText(path+"."+p.Key, p.Value, f)
		}
	case model.List:
		for i := range v {
			eachText(path+"["+strconv.Itoa(i)+"]", v[i], f)
		}
	case model.Variable:
		f(path, string(v))
	case model.Credential:
		eachText(path, v.Value, f)
	case model.String:
		f(path, string(v))
	}
}

// variables reports references to variables that the pods do not define; the agent expands them in the
// configuration of integrations. It is an error if the agent would not start with empty text in their place.
func (c integrationChecks) variables(in integration.Input, r *running) (out diag.List) {
	eachText("spec.config", r.Config, func(path, text string) {
		out = append(out, c.env.undefined(path, text)...)
	})
	if len(out) == 0 {
		return nil
	}
	known := map[string]bool{}
	for _, f := range r.Findings {
		known[f.Path+f.Message] = true
	}
	in.Config = c.env.expanded(in.Config, r.Config)
	for _, f := range c.catalogue.Check(in).Findings {
		if f.Severity != diag.Error || known[f.Path+f.Message] {
			continue
		}
		own := slices.ContainsFunc(out, func(v diag.Diagnostic) bool { return v.Path == f.Path })
		for i := range out {
			if !own || out[i].Path == f.Path {
				out[i].Severity = diag.Error
				out[i].Message += ", so " + f.Message
			}
		}
	}
	return out
}
