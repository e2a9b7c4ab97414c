package flux

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/inputs/chart"
	"github.com/agentry-dev/agentry/inputs/helm"
	"github.com/agentry-dev/agentry/inputs/roots"
	"github.com/agentry-dev/agentry/inputs/tree"
)

// Release is the [roots.Maker] that renders a HelmRelease.
type Release struct {
	// Objects are the objects that the HelmRelease refers to, by kind/namespace/name.
	Objects map[string]map[string]any
	// Encrypted says which of the Objects were encrypted.
	Encrypted map[string]bool
	// Top is the top folder of the repository with the chart, if the chart is in a repository.
	Top string
}

var _ roots.Maker = Release{}

// release returns the root that a HelmRelease asks for, or a refused one.
func (r *run) release(ctx context.Context, o roots.Object) roots.Root {
	by := &roots.CustomResource{Object: o.Object, Built: o.Built, Prefix: "spec."}
	root := roots.Root{Name: by.Name(), RequestedBy: by}
	root.AddSecret(o.Secret)
	h, err := parseRelease(by)
	if h != nil {
		if why := h.skipped(); why != nil {
			return refused(root, why)
		}
	}
	if p, ok := errors.AsType[*diag.Diagnostic](err); ok {
		return refused(root, p)
	}
	if p := h.unknownVariable(by); p != nil {
		return refused(root, p)
	}
	m := Release{Objects: map[string]map[string]any{}, Encrypted: map[string]bool{}}
	field, reached := "", (*diag.Diagnostic)(nil)
	note := func(kind, namespace, name string) map[string]any {
		id := kind + "/" + namespace + "/" + name
		object := r.object(kind, namespace, name)
		if object != nil {
			m.Objects[id] = object
			root.AddSecret(r.secret[id])
		}
		if p := r.unknown[id]; p != nil && reached == nil {
			reached = new(diag.FluxVariable.At(field, "%s %s/%s: %s: %s", kind, namespace, name, p.Path, p.Message))
		}
		return object
	}
	for i, ref := range h.Spec.ValuesFrom {
		field = "spec.valuesFrom" + index(i)
		object := note(ref.Kind, h.Metadata.Namespace, ref.Name)
		warning, mayAnswer := r.openValues(ctx, field, ref, h.Metadata.Namespace, object, m)
		if mayAnswer {
			return refused(root, warning)
		}
		if warning != nil {
			root.Warnings = append(root.Warnings, *warning)
		}
	}
	field = "spec.chart"
	if h.Spec.ChartRef != nil {
		field = "spec.chartRef"
	}
	wanted, err := h.Chart(note)
	if reached != nil {
		return refused(root, reached)
	}
	if err == nil && wanted.Remote == nil {
		root.AddSecret(r.secret[wanted.Source.Kind+"/"+wanted.Source.Namespace+"/"+wanted.Source.Name])
		m.Top, err = r.find(wanted.Source.Kind, wanted.Source.Namespace, wanted.Source.Name,
			"spec.chart.spec.sourceRef")
	}
	if p, ok := errors.AsType[*diag.Diagnostic](err); ok {
		return refused(root, p)
	}
	if wanted.Remote == nil {
		root.Warnings = append(root.Warnings, r.warnings(wanted.Source, "spec.chart.spec.sourceRef", m.Top)...)
	}
	root.Make = m
	return root
}

// openValues decrypts the object of a reference to values into m, if it is encrypted. It returns the warning about a
// Secret without whose values the chart is rendered, and whether a key server may answer later.
func (r *run) openValues(ctx context.Context, field string, ref ValuesReference, namespace string,
	object map[string]any, m Release) (warning *diag.Diagnostic, mayAnswer bool) {
	switch {
	case ref.isMissing(object):
		return new(diag.MissingSecret.At(field, "Secret %s/%s is not in the inputs; the chart is rendered without its "+
			"values", namespace, ref.Name).As(diag.Warning).WithHint(addMissing + ", or " + decidesMonitors)), false
	case slices.Contains(roots.StubKeys(object), cmp.Or(ref.ValuesKey, defaultKey)):
		return new(diag.MissingSecret.At(field, "the stub of Secret %s/%s has no value; the chart is rendered without "+
			"it", namespace, ref.Name).As(diag.Warning).WithHint(decidesMonitors)), false
	case !isEncrypted(object):
		return nil, false
	}
	clear, failed := r.open(ctx, object)
	if clear != nil {
		m.Objects[ref.id(namespace)], m.Encrypted[ref.id(namespace)] = clear, true
		return nil, false
	}
	p := undecrypted(field, ref.Kind, namespace, ref.Name, failed)
	if !failed.IsUncertain {
		p.Message, p.Hint = p.Message+"; the chart is rendered without its values", p.Hint+", or "+decidesMonitors
	}
	return p, failed.IsUncertain
}

// decidesMonitors is what to do about values that a chart is rendered without.
const decidesMonitors = "set in values what decides which monitors exist"

// unknownVariable returns the error about a field for rendering that a variable without a value reaches, or nil.
func (r *HelmRelease) unknownVariable(by *roots.CustomResource) *diag.Diagnostic {
	if len(by.Unknown) == 0 {
		return nil
	}
	var spec map[string]any
	if err := convert(r.Spec, &spec); err != nil {
		return nil // it was read from an object
	}
	return by.UnknownVariable("spec", spec)
}

// skipped returns why the release is not rendered, although nothing is wrong, or nil.
func (r *HelmRelease) skipped() *diag.Diagnostic {
	return skipped(r.Spec.Suspend, r.Spec.KubeConfig, "rendered")
}

// parseRelease reads the HelmRelease that asks for a root.
func parseRelease(by *roots.CustomResource) (*HelmRelease, error) {
	h, err := ParseHelmRelease(by.Text)
	if err == nil {
		h.Metadata.Namespace = by.Object.Namespace
	}
	return h, err
}

// Make implements [roots.Maker].
func (m Release) Make(ctx context.Context, t *tree.Tree, r roots.Root, opts roots.Options) ([]manifest.Built, error) {
	h, err := parseRelease(r.RequestedBy)
	if err != nil {
		return nil, rootProblem(err)
	}
	if opts.Charts == nil {
		return nil, new(diag.BuildRefused.At("spec.chart", "charts are not rendered here").
			WithHint("put the program agentry-charts beside agentry"))
	}
	charts := &Charts{Renderer: opts.Charts, Kustomize: opts.Kustomize,
		Open: func(ObjectRef) (*tree.Tree, string) { return t, m.Top }}
	docs, local, err := charts.Render(ctx, h, m.object)
	if failure, ok := errors.AsType[*helm.Failure](err); ok && local != nil && failure.Line > 0 {
		if file, own := local.File(failure.Template); own {
			o := r.RequestedBy.Object
			return nil, &diag.Diagnostic{Severity: diag.Error, Code: diag.BuildFailed, File: file, Line: failure.Line,
				Message: failure.Reason + "; used by " +
					manifest.ID{Kind: o.Kind, Namespace: o.Namespace, Name: o.Name}.String()}
		}
	}
	if err != nil {
		return nil, rootProblem(err)
	}
	filtered := helm.Filter(docs, h.Namespace(), isRead)
	for _, d := range filtered.Random {
		if d.Kind != "Secret" && d.Kind != "ConfigMap" { // these may well differ each time
			return nil, new(diag.BuildFailed.At("spec.chart", "%s: the %s depends on randomness or the time",
				d.Template, d.Kind).WithHint("set the values that the chart generates"))
		}
	}
	secrets, err := m.secrets(ctx, charts, h, r, filtered.Documents)
	if err != nil {
		return nil, err
	}
	out := make([]manifest.Built, len(filtered.Documents))
	for i, d := range filtered.Documents {
		at := templateOrigin{by: r.RequestedBy}
		if local != nil {
			at.file, _ = local.File(d.Template)
		}
		out[i] = manifest.Built{Text: []byte(d.Text), Origin: at, Secret: secrets[i], Applied: true,
			Lookup: d.LookedUp()}
	}
	return out, nil
}

// isRead reports whether agentry reads objects of a kind that a chart gives.
func isRead(apiVersion, kind string) bool {
	return slices.Contains(manifest.Kinds(), kind) || Follows(apiVersion, kind)
}

func (m Release) object(kind, namespace, name string) map[string]any {
	return m.Objects[kind+"/"+namespace+"/"+name]
}

// rootProblem turns the reason why a release cannot be rendered into a problem of its root.
func rootProblem(err error) error {
	if failure, ok := errors.AsType[*helm.Failure](err); ok {
		return new(diag.BuildFailed.At("spec.chart", "%s", failure.Error()))
	}
	if away, ok := errors.AsType[*chart.Error](err); ok {
		return new(diag.BuildFailed.At("spec.chart", "%s", away.Error()).Because(away.Cause()))
	}
	return err
}

// templateOrigin is the origin of a chart's object: its template if that is in a repository, else the HelmRelease.
type templateOrigin struct {
	by   *roots.CustomResource
	file string
}

// Find implements [manifest.Origin].
func (t templateOrigin) Find(string, string) (file string, line, column int) {
	if t.file != "" {
		return t.file, 0, 0
	}
	return t.by.Find("spec.chart")
}
