package runtimes

import (
	"slices"
	"strings"

	"github.com/agentry-dev/agentry/generator/diag"
)

// Annotation names the program that the pods of a GrafanaAgent run.
const Annotation = "agentry.dev/runtime"

// Choice decides which program the pods of each GrafanaAgent run.
type Choice struct {
	// Default runs the pods of GrafanaAgents without [Annotation].
	Default Runtime
	// Others are the other programs that GrafanaAgents can choose.
	Others []Runtime
	// Allowed are the names of the programs that GrafanaAgents may choose. Nil allows all.
	Allowed []string
	// IsFixed means that the default runs all pods, whatever GrafanaAgents choose.
	IsFixed bool
}

// Of returns the program of a GrafanaAgent with these annotations. If [Choice.Check] finds an error, it is the default.
func (c *Choice) Of(annotations map[string]string) Runtime {
	i := slices.IndexFunc(c.Others, func(r Runtime) bool { return r.Name == annotations[Annotation] })
	if i < 0 || c.IsFixed || !c.allows(c.Others[i].Name) {
		return c.Default
	}
	return c.Others[i]
}

func (c *Choice) allows(name string) bool {
	return c.Allowed == nil || slices.Contains(c.Allowed, name)
}

// AnnotationPath is the path of [Annotation].
const AnnotationPath = "metadata.annotations[" + Annotation + "]"

// Check returns an error if a GrafanaAgent with these annotations chooses a program that does not exist or is not
// allowed.
func (c *Choice) Check(annotations map[string]string) diag.List {
	name, chooses := annotations[Annotation]
	if !chooses || c.IsFixed {
		return nil
	}
	var names []string
	for _, r := range append(slices.Clip(c.Others), c.Default) {
		names = append(names, r.Name)
	}
	slices.Sort(names)
	switch {
	case !slices.Contains(names, name):
		allowed := slices.DeleteFunc(names, func(name string) bool { return !c.allows(name) })
		message, hint := diag.Unknown("program", name, allowed)
		return diag.List{diag.InvalidSetting.At(AnnotationPath, "%s", message).WithHint(hint)}
	case !c.allows(name):
		return diag.List{diag.InvalidSetting.At(AnnotationPath,
			"the pipeline does not allow %s: its spec.runtimes.allowed has only %s", name,
			strings.Join(c.Allowed, ", ")).
			WithHint("add " + name + " to spec.runtimes.allowed of the pipeline, or remove the annotation")}
	}
	return nil
}
