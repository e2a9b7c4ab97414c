package cli

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/agentry-dev/agentry/generator"
	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/workload"
	"github.com/agentry-dev/agentry/internal/cli/command"
	"github.com/agentry-dev/agentry/internal/cli/dryrun"
)

// image is an image and the containers that run it.
type image struct {
	Image string `json:"image"`
	// Pinned is whether the image has a digest, so that a registry cannot change it.
	Pinned     bool        `json:"pinned"`
	Containers []container `json:"containers"`
}

// container is a container that runs an image.
type container struct {
	Kind      string `json:"kind"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	Container string `json:"container"`
	// Unit is the GrafanaAgent, namespace/name.
	Unit string `json:"unit"`
}

// imagesCommand lists the images that the rendered pods run.
func imagesCommand(env Env) command.Command {
	return command.Command{
		Name:  "images",
		Args:  "[PATH...]",
		Usage: "print the images that the rendered pods run",
		Description: `PATHs are folders, files, or - for standard input. A pipeline file governs, if there is one,
with its patches and images.

Each image is one line, so that a mirror can be filled from it. With -o json or -o yaml the
containers of each image are listed, and whether it is pinned by a digest.`,
		Example: "agentry images .",
		Flags: slices.Concat([]cli.Flag{
			command.FormatFlag("images"),
		}, dryFlags()),
		Run: func(ctx context.Context, flags *cli.Context, paths []string) error {
			return images(ctx, env, flags, paths)
		},
	}
}

func images(ctx context.Context, env Env, flags *cli.Context, paths []string) error {
	format, err := command.Format(flags)
	if err != nil {
		return err
	}
	runs, done, err := env.dry(ctx, flags, paths, mayBeEmpty)
	if err != nil {
		return err
	}
	defer done()
	var units []*generator.Unit
	for _, run := range runs {
		units = append(units, unitsAfter(run.Report)...)
	}
	found := dryrun.Findings(runs)
	list, err := imagesOf(units)
	if err != nil {
		return err
	}
	if command.IsData(format) {
		err = command.WriteData(env.Stdout, format, list)
	} else {
		for _, i := range list {
			fmt.Fprintln(env.Stdout, diag.OneLine(i.Image))
		}
	}
	if err != nil {
		return err
	}
	for _, u := range units {
		if u.Stays() {
			fmt.Fprintf(env.Stderr, "%s is not included: it is left unchanged on the output branch\n",
				diag.OneLine(u.Name))
		}
	}
	env.pointToCheck(found)
	env.used(runs)
	return verdict(found, false)
}

// imagesOf returns the images of all workloads, sorted.
func imagesOf(units []*generator.Unit) ([]image, error) {
	byName := map[string]*image{}
	for _, u := range units {
		for _, f := range u.Files {
			if !f.Manifest || !workload.IsWorkload(f.Object.Kind) {
				continue
			}
			pods := workload.Pods(f.Workload())
			if pods == nil {
				return nil, fmt.Errorf("%s/%s: %s is not as Kubernetes has it", u.Name, f.Path, f.Object)
			}
			for _, c := range slices.Concat(pods.Spec.InitContainers, pods.Spec.Containers) {
				i := byName[c.Image]
				if i == nil {
					i = &image{Image: c.Image, Pinned: strings.Contains(c.Image, "@")}
					byName[c.Image] = i
				}
				i.Containers = append(i.Containers,
					container{f.Object.Kind, f.Object.Namespace, f.Object.Name, c.Name, u.Name})
			}
		}
	}
	list := make([]image, 0, len(byName))
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		list = append(list, *byName[name])
	}
	return list, nil
}
