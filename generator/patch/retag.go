package patch

import (
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/google/go-containerregistry/pkg/name"
	"sigs.k8s.io/kustomize/api/builtins"
	"sigs.k8s.io/kustomize/api/resmap"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/resid"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/internal/expression"
)

// retag gives an image another name, tag or digest.
type retag struct {
	names  *regexp.Regexp // of images that it is for, as kustomize finds them
	plugin *builtins.ImageTagTransformerPlugin
}

// imageFields returns the fields of workloads that hold images: those that kustomize changes.
func imageFields() (out types.FsSlice) {
	for _, path := range []string{"containers[]/image", "initContainers[]/image", "volumes[]/image/reference"} {
		out = append(out, types.FieldSpec{Path: "spec/template/spec/" + path})
	}
	return out
}

var (
	tagForm    = lazy(`^[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}$`)
	digestForm = lazy(`^(sha256:[0-9a-f]{64}|sha512:[0-9a-f]{128})$`)
)

// lazy compiles an expression when it is needed first, not at every start.
func lazy(expression string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expression) })
}

// newRetag reads an image.
func newRetag(i Image) (*retag, *diag.Diagnostic) {
	const tail = `(:[a-zA-Z0-9_.{}-]*)?(@[a-zA-Z0-9]+([.+_-][a-zA-Z0-9]+)*:[a-zA-Z0-9_.{}-]*)?$`
	err := expression.Check(i.Name)
	switch {
	case i.Name == "":
		return nil, invalid(".name", "is required", "name the image without its tag, such as grafana/agent")
	case err != nil:
		return nil, invalid(".name", "is not the name of an image: "+brief(err), "")
	case i.NewName == "" && i.NewTag == "" && i.Digest == "":
		return nil, invalid("", "changes nothing", "set newName, newTag or digest")
	case i.NewTag != "" && !tagForm().MatchString(i.NewTag):
		return nil, invalid(".newTag", "is not a tag", "write it without the name, such as v0.44.8")
	case i.Digest != "" && !digestForm().MatchString(i.Digest):
		return nil, invalid(".digest", "is not a digest", "write it like sha256: and 64 hexadecimal digits")
	}
	if i.NewName != "" {
		if _, err := name.NewRepository(i.NewName, name.WeakValidation); err != nil ||
			strings.Contains(i.NewName, "://") {
			return nil, invalid(".newName", "is not the name of an image",
				"write it without a tag, such as registry.example.com/grafana/agent")
		}
	}
	return &retag{names: regexp.MustCompile("^" + i.Name + tail), plugin: &builtins.ImageTagTransformerPlugin{
		ImageTag:   types.Image{Name: i.Name, NewName: i.NewName, NewTag: i.NewTag, Digest: i.Digest},
		FieldSpecs: imageFields(),
	}}, nil
}

func (r *retag) mayMatch(id resid.ResId) bool { return id.Group == "apps" }

func (r *retag) apply(object resmap.ResMap) (matches bool, err error) {
	matches = slices.ContainsFunc(containers(object), func(c *yaml.RNode) bool {
		image, _ := c.GetString("image")
		return r.names.MatchString(image)
	})
	if !matches {
		return false, nil
	}
	return true, r.plugin.Transform(object)
}

// containers returns the containers of a workload.
func containers(object resmap.ResMap) (out []*yaml.RNode) {
	for _, field := range [...]string{"containers", "initContainers"} {
		list, err := object.Resources()[0].Pipe(yaml.Lookup("spec", "template", "spec", field))
		if err != nil || list == nil {
			continue
		}
		elements, _ := list.Elements()
		out = append(out, elements...)
	}
	return out
}

func (r *retag) similar() string { return "agentry images prints the images that run" }
