package cli

import (
	"context"

	"github.com/urfave/cli/v2"

	"github.com/agentry-dev/agentry/generator/api/references"
	"github.com/agentry-dev/agentry/internal/cli/command"
)

func kustomizeConfigCommand(env Env) command.Command {
	return command.Command{
		Name:  "kustomize-config",
		Usage: "print the references in custom resources for kustomize to follow",
		Description: `kustomize renames Secrets and ConfigMaps (namePrefix, hashes of generators), and knows only
Kubernetes' own references to them. Save the output beside a kustomization, and name it in
configurations. agentry itself needs no such file.`,
		Example: "agentry kustomize-config",
		Run: func(context.Context, *cli.Context, []string) error {
			_, err := env.Stdout.Write(references.YAML())
			return err
		},
	}
}
