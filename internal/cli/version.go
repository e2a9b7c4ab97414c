package cli

import (
	"context"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/urfave/cli/v2"

	"github.com/agentry-dev/agentry/internal/cli/command"
	"github.com/agentry-dev/agentry/internal/lazyregexp"
	"github.com/agentry-dev/agentry/internal/scaffold"
)

// supportedAgents is the version of Grafana Agent that the rendered configuration is for.
const supportedAgents = "v0.44.8"

func versionCommand(env Env) command.Command {
	return command.Command{
		Name:    "version",
		Usage:   "print the version, commit, Go version and supported agent versions",
		Example: "agentry version",
		Flags:   []cli.Flag{command.FormatFlag("version")},
		Run: func(_ context.Context, flags *cli.Context, _ []string) error {
			format, err := command.Format(flags)
			if err != nil {
				return err
			}
			if command.IsData(format) {
				return command.WriteData(env.Stdout, format, map[string]string{
					"version": buildVersion(), "commit": buildCommit(), "go": runtime.Version(),
					"platform": runtime.GOOS + "/" + runtime.GOARCH, "agent": supportedAgents,
				})
			}
			_, err = fmt.Fprintf(env.Stdout, "agentry %s\ncommit  %s\ngo      %s %s/%s\nagent   %s\n",
				buildVersion(), buildCommit(), runtime.Version(), runtime.GOOS, runtime.GOARCH, supportedAgents)
			return err
		},
	}
}

// buildVersion returns the version that the Go tool derived from Git at build time.
func buildVersion() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "(devel)"
}

func buildCommit() string {
	info, _ := debug.ReadBuildInfo()
	commit := "unknown"
	if info == nil {
		return commit
	}
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			commit = s.Value
		case s.Key == "vcs.modified" && s.Value == "true":
			commit += " (modified)"
		}
	}
	return commit
}

// releaseVersion matches the versions of releases, and not those that Go makes of other commits.
var releaseVersion = lazyregexp.New(`^v\d+\.\d+\.\d+(-(alpha|beta|rc)\.\d+)?$`)

// release returns the release that this program is of, or the commit, if it is known.
func release() scaffold.Release {
	version, commit := buildVersion(), buildCommit()
	switch {
	case releaseVersion.MatchString(version):
		return scaffold.Release{Version: version, Revision: version}
	case fullCommit.MatchString(commit):
		return scaffold.Release{Revision: commit}
	}
	return scaffold.Release{Revision: "main"}
}
