package kustomizer

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/api/konfig"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/resmap"
	"sigs.k8s.io/kustomize/api/resource"
	"sigs.k8s.io/kustomize/api/types"
	kyaml "sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/agentry-dev/agentry/internal/panics"
)

// Crash is the refusal of a job on which kustomize's library panics.
const Crash = "kustomize's library crashed on it"

// wrongAnnotations is a problem that kustomize leaves to its caller.
const wrongAnnotations = "kustomize's annotations of an object are wrong"

// build builds the job.
func (j *Job) build(f *files) (out Result) {
	var problem Result
	err := j.run(func() error {
		built, err := kustomize(f, j.Folder)
		if err == nil {
			out, problem = j.objects(built)
		}
		return err
	})
	switch {
	case panics.Is(err):
		return Result{Refusal: Crash}
	case err != nil:
		return Result{Refusal: err.Error()}
	case problem.Problem != "":
		return problem
	}
	return out
}

// kustomize builds a folder.
func kustomize(f *files, folder string) (resmap.ResMap, error) {
	options := krusty.MakeDefaultOptions()
	options.LoadRestrictions = types.LoadRestrictionsNone // the caller decides which files there are
	return krusty.MakeKustomizer(options).Run(f, path.Join("/", folder))
}

// objects returns the built objects without the trace, or the problem with them.
func (j *Job) objects(built resmap.ResMap) (out, problem Result) {
	wrong := func(message, hint string) (Result, Result) { return Result{}, Result{Problem: message, Hint: hint} }
	if built.Size() > MaxObjects {
		return wrong(fmt.Sprintf("has more than %d objects", MaxObjects), "split it")
	}
	if j.ManagedBy != "" && label(built, konfig.ManagedbyLabelKey, j.ManagedBy) != nil {
		return wrong("an object cannot have the label of buildMetadata", "correct its labels")
	}
	var known map[*resource.Resource]names
	var renamed map[*resource.Resource]map[string]string
	if j.Renames {
		refs, err := references()
		if err == nil {
			known, err = extractNames(built)
		}
		if err != nil {
			return wrong(wrongAnnotations, "remove kustomize's annotations from the objects")
		}
		renamed = refs.follow(built, known)
	}
	size := 0
	for _, r := range built.Resources() {
		o, err := j.traced(r)
		if err != nil {
			return wrong(wrongAnnotations, "remove kustomize's annotations from the objects")
		}
		if size += sizeOf(r.YNode(), MaxBytes-size); size > MaxBytes {
			return wrong(fmt.Sprintf("has more than %d MiB of objects", MaxBytes>>20), "split it")
		}
		if o.Text, err = r.AsYAML(); err != nil {
			return Result{}, Result{IsUnwritable: true,
				Problem: fmt.Sprintf("%s %s cannot be written as YAML: a key in it is there twice, or is not a string",
					r.GetKind(), r.GetName()),
				Hint: "write each key once, and in quotes if it looks like a number, true, false or null"}
		}
		o.Kind, o.APIVersion = r.GetKind(), r.GetApiVersion()
		o.EarlierNames, o.Renamed = known[r].renamed(), renamed[r]
		out.Objects = append(out.Objects, o)
	}
	return out, Result{}
}

// traced returns the object with what kustomize traced, and removes the annotations that are not asked for.
func (j *Job) traced(r *resource.Resource) (o Object, err error) {
	from, err := r.GetOrigin()
	if err != nil {
		return o, err
	}
	if from != nil {
		o.IsTraced, o.File, o.Generator = true, from.Path, from.ConfiguredIn
	}
	transformations, err := r.GetTransformations()
	if err != nil {
		return o, err
	}
	for _, t := range transformations {
		o.Changes = append(o.Changes, t.ConfiguredIn)
	}
	if !slices.Contains(j.Traced, types.OriginAnnotations) {
		from = nil
	}
	if err := r.SetOrigin(j.asRemote(from)); err != nil {
		return o, err
	}
	if err := r.ClearTransformations(); err != nil || !slices.Contains(j.Traced, types.TransformerAnnotations) {
		return o, err
	}
	for _, t := range transformations {
		if err := r.AddTransformation(j.asRemote(t)); err != nil {
			return o, err
		}
	}
	return o, nil
}

// asRemote returns an origin as kustomize writes it if it clones the repository that the origin is in.
func (j *Job) asRemote(o *resource.Origin) *resource.Origin {
	if o == nil {
		return nil
	}
	out := o.Copy()
	at := &out.Path
	if *at == "" {
		at = &out.ConfiguredIn
	}
	name := path.Join(j.Folder, *at)
	for place, entry := range j.Remotes {
		below, isBelow := strings.CutPrefix(name, place+"/")
		if !isBelow && name != place {
			continue
		}
		named := (&resource.Origin{}).Append(entry)
		out.Repo, out.Ref = named.Repo, named.Ref
		if *at = below; !isBelow { // it is a file
			*at = named.Path
		}
		return &out
	}
	return o
}

// label sets a label in all objects.
func label(built resmap.ResMap, name, value string) error {
	for _, r := range built.Resources() {
		labels := r.GetLabels()
		labels[name] = value
		if err := r.SetLabels(labels); err != nil {
			return err
		}
	}
	return nil
}

// SizeOf estimates the size of a YAML document whose aliases are expanded, or returns any number above limit.
func SizeOf(text string, limit int) int {
	var node kyaml.Node
	var value any
	if !strings.Contains(text, "&") || kyaml.Unmarshal([]byte(text), &node) != nil || node.Decode(&value) != nil {
		return len(text) // an alias of what contains it cannot be decoded
	}
	return max(len(text), sizeOf(&node, limit))
}

// sizeOf estimates the size of a node as YAML without writing it, or returns any number above limit. Aliases make it
// possible that a small node is huge as YAML.
func sizeOf(n *kyaml.Node, limit int) int {
	if n.Kind == kyaml.AliasNode {
		n = n.Alias
	}
	bytes := len(n.Value) + 2 // and separators
	for _, inner := range n.Content {
		if bytes > limit {
			break
		}
		bytes += sizeOf(inner, limit-bytes)
	}
	return bytes
}
