package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/gitsync/pipeline"
	"github.com/agentry-dev/agentry/internal/cli/command"
	"github.com/agentry-dev/agentry/internal/cli/dryrun"
	"github.com/agentry-dev/agentry/internal/resourcelist"
)

func functionCommand(env Env) command.Command {
	return command.Command{
		Name:  "function",
		Usage: "render the items of a ResourceList, for kustomize and kpt",
		Description: `A KRM function: it reads a ResourceList from standard input and writes one to standard output,
with what is rendered in place of the custom resources. All other items stay as they are, and
custom resources with the annotation config.kubernetes.io/local-config: "true" stay too.
functionConfig is a Pipeline with fields of spec besides sources and output, or a ConfigMap whose
data are FIELD: VALUE as in --set.

If there is an error, the items come back unchanged, with the findings in results, and the exit
code is 1. docs/doors.md shows the files for kustomize and kpt.`,
		Example: `echo '{kind: ResourceList, items: []}' | agentry function --set spec.limits.allowEmpty=true`,
		Flags: []cli.Flag{
			setFlag(),
			&cli.StringSliceFlag{Name: "keep", Usage: "leave custom resources of `KIND` in the items; repeatable"},
		},
		Run: func(ctx context.Context, flags *cli.Context, _ []string) error { return function(ctx, env, flags) },
	}
}

func function(ctx context.Context, env Env, flags *cli.Context) error {
	list, err := resourcelist.Read(env.Stdin)
	if err != nil {
		return command.Usagef("kustomize and kpt write one; agentry render - reads manifests",
			"standard input is not a ResourceList: %v", err)
	}
	request := dryrun.Request{Alone: true, Offline: true, Getenv: env.LookupEnv}
	request.Options.Version = buildVersion()
	if request.Options.CacheDir, err = cacheDir(""); err != nil {
		return err
	}
	if request.Files, err = list.Files(); err != nil {
		return err
	}
	var found diag.List
	request.Spec, request.Set, found = functionConfig(list)
	request.Set = append(request.Set, flags.StringSlice("set")...)
	found = append(found, outOfPlace(request.Spec, request.Set, forItems)...)
	if found.HasErrors() {
		return env.badConfig(list, found)
	}
	runs, done, err := dryrun.Do(ctx, request)
	if wrong, ok := errors.AsType[*dryrun.Misconfigured](err); ok {
		return env.badConfig(list, wrong.Found)
	}
	if err != nil {
		return err
	}
	defer done()
	run := runs[0]
	found = slices.Concat(run.Report.Diags, needsBranch(run))
	results := make([]resourcelist.Result, len(found))
	for i := range found {
		it := list.Place(&found[i])
		results[i] = it.Result(found[i])
	}
	if err := env.report(env.Stderr, nil, found); err != nil {
		return err
	}
	env.summary(runs, found)
	failed := verdict(found, false)
	if !writes(run) {
		failed = command.ErrFindings
	}
	if failed == nil {
		err = replaceItems(list, run, flags.StringSlice("keep"))
	}
	return cmp.Or(err, list.Write(env.Stdout, results), failed)
}

// badConfig writes the list as it came, with findings about its functionConfig, and returns the error that prints them.
func (e Env) badConfig(list *resourcelist.List, found diag.List) error {
	_, file, _ := list.Config() // it is read already
	found = slices.Clone(found)
	var results []resourcelist.Result
	for i := range found {
		found[i].File, found[i].Line, found[i].Column = file, 0, 0
		results = append(results, (*resourcelist.Item)(nil).Result(found[i]))
		found[i].File = cmp.Or(file, "functionConfig")
	}
	if err := list.Write(e.Stdout, results); err != nil {
		return err
	}
	return e.configuration(found)
}

// replaceItems puts what a run rendered in place of the custom resources that it read. Those of kinds to keep stay, and
// those that are only for tools.
func replaceItems(list *resourcelist.List, run *dryrun.Run, keep []string) error {
	var read []*resourcelist.Item
	for _, o := range run.Report.Set.All() {
		line, _ := o.Position("")
		it := list.Item(o.File(), line)
		isCustom := strings.Contains(o.Ref().APIVersion, "/") // Secrets, ConfigMaps and Namespaces are not
		if it != nil && isCustom && !it.IsLocal() && !slices.Contains(keep, o.Kind) {
			read = append(read, it)
		}
	}
	list.Remove(slices.Concat(read, list.Earlier()))
	for _, u := range unitsAfter(run.Report) {
		for _, f := range inOrder(u) {
			if err := list.Put(u.Name+"/"+f.Path, f.Data); err != nil {
				return fmt.Errorf("%s: %w", f.Object, err)
			}
		}
	}
	return nil
}

// functionConfig returns what the functionConfig of a list says: fields of a pipeline's spec, or changes.
func functionConfig(list *resourcelist.List) (spec map[string]any, set []string, found diag.List) {
	config, _, err := list.Config()
	if err != nil || config == nil {
		return nil, nil, wrongConfig(err)
	}
	version, kind := config["apiVersion"], config["kind"]
	switch {
	case version == pipeline.APIVersion && kind == pipeline.Kind:
		spec, ok := config["spec"].(map[string]any)
		if config["spec"] != nil && !ok {
			return nil, nil, diag.List{diag.PipelineInvalid.At("spec", "must be a mapping")}
		}
		return spec, nameOf(config), nil
	case version == "v1" && kind == "ConfigMap":
		data, _ := config["data"].(map[string]any)
		for _, field := range slices.Sorted(maps.Keys(data)) {
			set = append(set, fmt.Sprintf("%s=%v", field, data[field]))
		}
		return nil, set, nil
	}
	wrong := diag.PipelineInvalid.At("", "this is a %v of %v, not a %s", kind, version, pipeline.Kind)
	wrong.Hint = fmt.Sprintf("write apiVersion: %s and kind: %s", pipeline.APIVersion, pipeline.Kind)
	return nil, nil, diag.List{wrong}
}

// nameOf returns the change that gives a pipeline the name of a configuration, which findings then have.
func nameOf(config map[string]any) []string {
	metadata, _ := config["metadata"].(map[string]any)
	name, _ := metadata["name"].(string)
	if problem, _ := diag.LabelName(name); problem != "" {
		return nil // other objects may have more names than pipelines
	}
	return []string{"metadata.name=" + name}
}

func wrongConfig(err error) diag.List {
	if err == nil {
		return nil
	}
	return diag.List{diag.PipelineInvalid.At("", "%v", err)}
}

func setFlag() cli.Flag {
	return &cli.StringSliceFlag{Name: "set", Usage: "`FIELD=VALUE`, as in spec.rbac=render; repeatable"}
}
