package completion

import (
	"os"
	"path"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/agentry-dev/agentry/generator/api/crds"
	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/generator/podsecurity"
	"github.com/agentry-dev/agentry/generator/secretref"
	"github.com/agentry-dev/agentry/gitsync/pipeline"
	"github.com/agentry-dev/agentry/inputs"
	"github.com/agentry-dev/agentry/internal/cli/command"
	"github.com/agentry-dev/agentry/internal/scaffold"
)

// Choices are the words that a flag of a command takes, or nothing. A test asks the commands whether these are all.
func Choices(name, flag string) []string {
	switch flag {
	case "format":
		return command.Formats(name)
	case "log-format":
		return []string{"text", "json"}
	case "log-level":
		return []string{"debug", "info", "warn", "error"}
	case "build":
		return command.Words(inputs.Modes())
	case "compatibility":
		return []string{string(manifest.Operator), string(manifest.Current)}
	case "runtime":
		return []string{string(pipeline.RuntimeAgent), string(pipeline.RuntimeAlloy)}
	case "secrets":
		return []string{string(secretref.Reference), string(secretref.Plaintext), string(secretref.SOPS)}
	case "pss":
		return podsecurity.Levels()
	case "ci":
		return []string{string(scaffold.GitHub), string(scaffold.GitLab), string(scaffold.NoJob)}
	case "deploy":
		return []string{string(scaffold.Flux), string(scaffold.ArgoCD), string(scaffold.NoDeployer)}
	}
	return nil
}

// values returns the possible values of a flag. It returns none for files and folders: the shell completes them.
func values(l line, flag string, s Sources) []string {
	if flag == "pipeline" {
		return s.Pipelines(l.value("file"))
	}
	return Choices(l.command.Name, flag)
}

// arguments returns the possible arguments, besides files and folders.
func arguments(app *cli.App, l line, s Sources) []string {
	switch l.command.Name {
	case "completion":
		return shells()
	case "crds":
		return crdKinds()
	}
	flags, err := l.context(app)
	if err != nil {
		return nil
	}
	switch l.command.Name {
	case "status", "trigger":
		return s.Running(flags)
	case "explain", "targets":
		paths := slices.DeleteFunc(slices.Clone(l.arguments), func(word string) bool {
			_, err := os.Stat(word)
			return err != nil // an object
		})
		if len(paths) == 0 {
			paths = []string{"."}
		}
		return s.Objects(flags, paths)
	}
	return nil
}

// crdKinds returns the kinds with a CustomResourceDefinition.
func crdKinds() (out []string) {
	all, err := crds.All()
	if err != nil {
		return nil
	}
	for _, c := range all {
		out = append(out, c.Kind)
	}
	return out
}

// Reference returns how people type an object: KIND/NAMESPACE/NAME, or KIND/NAME if it belongs to no namespace.
func Reference(id manifest.ID) string {
	return path.Join(strings.ToLower(id.Kind), id.Namespace, id.Name)
}
