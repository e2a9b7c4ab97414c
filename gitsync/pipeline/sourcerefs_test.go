package pipeline

import (
	"slices"
	"strings"
	"testing"

	"github.com/agentry-dev/agentry/inputs"
)

// TestSourceRefs: a name must exist once, and a source that is named has no objects by itself.
func TestSourceRefs(t *testing.T) {
	t.Parallel()
	spec := func(refs map[string]string, sources ...Source) *Pipeline {
		p := &Pipeline{APIVersion: APIVersion, Kind: Kind, Metadata: Metadata{Name: "p"},
			Spec: Spec{Sources: sources, SourceRefs: refs, Output: Output{Branch: "env"}}}
		for i := range p.Spec.Sources {
			p.Spec.Sources[i].URL, p.Spec.Sources[i].Ref = "https://git.example.com/"+p.Spec.Sources[i].Name+"x.git",
				Ref{Branch: "main"}
		}
		p.Default()
		return p
	}
	fleet, apps := Source{Build: inputs.Flux}, Source{Name: "apps"}
	for name, c := range map[string]struct {
		p    *Pipeline
		want string // the fields with errors
	}{
		"of Flux": {spec(map[string]string{"GitRepository/flux-system/apps": "apps"}, fleet, apps), ""},
		"of Argo CD": {spec(map[string]string{"https://git.example.com/x": "apps"}, Source{Build: inputs.ArgoCD},
			apps), ""},
		"no such source": {spec(map[string]string{"GitRepository/flux-system/apps": "other"}, fleet, apps),
			"spec.sourceRefs[GitRepository/flux-system/apps]"},
		"no reference": {spec(map[string]string{"apps": "apps"}, fleet, apps), "spec.sourceRefs[apps]"},
		"another kind": {spec(map[string]string{"HelmRepository/flux-system/apps": "apps"}, fleet, apps),
			"spec.sourceRefs[HelmRepository/flux-system/apps]"},
		"nothing follows": {spec(map[string]string{"GitRepository/flux-system/apps": "apps"}, Source{}, apps),
			"spec.sourceRefs"},
		"of kustomizations": {spec(map[string]string{"https://git.example.com/x": "apps"}, Source{}, apps), ""},
		"nothing is built": {spec(map[string]string{"https://git.example.com/x": "apps"}, Source{Build: inputs.Plain},
			Source{Name: "apps", Build: inputs.Plain}), "spec.sourceRefs"},
		"two of the name":     {spec(nil, fleet, apps, apps), "spec.sources[2].name"},
		"no name of a source": {spec(nil, fleet, Source{Name: "A/b"}), "spec.sources[1].name"},
	} {
		var fields []string
		for _, e := range c.p.Validate() {
			fields = append(fields, e.Path)
		}
		if got := strings.Join(slices.Compact(fields), " "); got != c.want {
			t.Errorf("%s: the errors are at %q, want %q", name, got, c.want)
		}
	}
	p := spec(map[string]string{"GitRepository/flux-system/apps": "apps"}, fleet, apps, Source{Name: "third"})
	if s := p.Spec.Sources; len(s[1].Paths) > 0 || len(s[0].Paths) != 1 || len(s[2].Paths) != 1 {
		t.Errorf("the paths are %v, %v and %v", s[0].Paths, s[1].Paths, s[2].Paths)
	}
	if m := p.Spec.Mounts(0); len(m) != 1 || m["apps"] != 1 || len(p.Spec.Mounts(1)) != 0 {
		t.Errorf("what is mounted is %v, and %v", m, p.Spec.Mounts(1))
	}
}
