package mirror

import (
	"strings"
	"testing"

	"github.com/agentry-dev/agentry/generator/manifest"
)

// TestPermissions holds which annotations allow a controller to copy a Secret, according to the documentation of the
// controllers.
func TestPermissions(t *testing.T) {
	for name, c := range map[string]struct {
		reflector       Reflector
		allowed, listed string
		want            bool
	}{
		"not allowed":                            {Emberstack, "", "m", false},
		"allowed everywhere":                     {Emberstack, "true", "", true},
		"not allowed, in no list":                {Emberstack, "false", "", false},
		"in a list":                              {Emberstack, "true", "a, m", true},
		"by an expression":                       {Emberstack, "true", "[a-m]", true},
		"an expression is for the whole name":    {Emberstack, "true", "mm,.n", false},
		"an expression that is none":             {Emberstack, "true", "m[", false},
		"beside an expression that is none":      {Emberstack, "true", "m[,m", true},
		"kubernetes-replicator needs a list":     {Mittwald, "true", "", false},
		"kubernetes-replicator, in a list":       {Mittwald, "true", "a,m", true},
		"kubernetes-replicator, not allowed":     {Mittwald, "no", "m", false},
		"kubernetes-replicator, by .* in a list": {Mittwald, "true", ".*", true},
	} {
		p := permissions[c.reflector]
		secret := &manifest.Object{ID: manifest.ID{Kind: "Secret", Namespace: "shop", Name: "db"},
			Annotations: map[string]string{p.allowed: c.allowed, p.namespaces: c.listed}}
		settings := Settings{Reflector: c.reflector}
		problem, hint := settings.Refusal(manifest.ID{Namespace: "m", Name: "a"}, Source{ID: secret.ID, Object: secret})
		if (problem == "") != c.want || (hint == "") != c.want {
			t.Errorf("%s: %q, hint %q", name, problem, hint)
		}
	}
}

func TestLongNames(t *testing.T) {
	settings := Settings{Reflector: Mittwald}
	source := Source{ID: manifest.ID{Kind: "Secret", Namespace: "shop", Name: strings.Repeat("x", 253-len("a.shop."))}}
	agent := manifest.ID{Namespace: "m", Name: "a"}
	if problem, _ := settings.Refusal(agent, source); problem != "" {
		t.Error(problem)
	}
	source.Name += "x"
	if problem, _ := settings.Refusal(agent, source); !strings.Contains(problem, "254 characters") {
		t.Errorf("%q", problem)
	}
}

// TestCopiesChangeNothing holds that the ExternalSecret of the inputs is not changed: later renders share it.
func TestCopiesChangeNothing(t *testing.T) {
	target := map[string]any{"name": "db"}
	spec := map[string]any{"target": target, "secretStoreRef": map[string]any{"kind": ClusterStoreKind}}
	id := manifest.ID{Kind: "Secret", Namespace: "shop", Name: "db"}
	settings := Settings{ExternalSecret: &ExternalSecret{Copy: true}}
	objects := settings.Objects(manifest.ID{Namespace: "m", Name: "a"},
		[]Mirrored{{Source: Source{ID: id,
			Named: manifest.Named{ID: id, External: &manifest.External{APIVersion: "external-secrets.io/v1beta1",
				Spec: spec}}}}})
	if target["name"] != "db" || len(objects) != 1 || objects[0].APIVersion != "external-secrets.io/v1beta1" {
		t.Errorf("target %v, objects %v", target, objects)
	}
}
