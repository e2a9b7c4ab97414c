package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
)

// stage runs programs in the demo's folder and shows them.
type stage struct {
	ctx    context.Context // of the demo, whose lifetime this is
	out    io.Writer
	folder string
}

func (s *stage) path(parts ...string) string {
	return filepath.Join(append([]string{s.folder}, parts...)...)
}

func (s *stage) heading(text string) {
	fmt.Fprintf(s.out, "\n== %s ==\n\n", text)
}

// command prepares a program. A folder of "." is the one that the demo was started in.
// Git sees no configuration of the user's, agentry no cache of theirs.
func (s *stage) command(folder, program string, args ...string) *exec.Cmd {
	if program == "agentry" {
		program = s.path("bin", "agentry")
	}
	c := exec.CommandContext(s.ctx, program, args...)
	if folder != "." {
		c.Dir = s.path(folder)
		c.Env = append(os.Environ(), "HOME="+s.folder, "XDG_CACHE_HOME="+s.path("cache"), "GIT_CONFIG_NOSYSTEM=1",
			"GIT_PAGER=cat",
			"GIT_AUTHOR_NAME=Ada", "GIT_AUTHOR_EMAIL=ada@example.com", "GIT_COMMITTER_NAME=Ada",
			"GIT_COMMITTER_EMAIL=ada@example.com")
	}
	return c
}

// quiet runs a program and shows its output only if it fails.
func (s *stage) quiet(folder, program string, args ...string) error {
	if output, err := s.command(folder, program, args...).CombinedOutput(); err != nil {
		return fmt.Errorf("%s %s: %w\n%s", program, strings.Join(args, " "), err, output)
	}
	return nil
}

// show prints the command line, runs it and prints its output.
func (s *stage) show(folder, program string, args ...string) error {
	s.print("$ " + program + " " + strings.Join(args, " ") + "\n")
	output, err := s.command(folder, program, args...).CombinedOutput()
	s.print(string(output))
	return err
}

// print shortens the name of the demo's folder.
func (s *stage) print(text string) {
	fmt.Fprint(s.out, strings.ReplaceAll(text, s.folder, "..."))
}

// edit replaces a text in a team's monitors, and shows the difference.
func (s *stage) edit(team, old, text string) error {
	file := s.path("work", team, "monitors.yaml")
	data, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	if err := os.WriteFile(file, []byte(strings.Replace(string(data), old, text, 1)), 0o666); err != nil {
		return err
	}
	return s.show("work", "git", "diff", "-U1", team)
}

// commit commits and pushes what was edited.
func (s *stage) commit(message string) error {
	if err := s.quiet("work", "git", "commit", "-q", "-am", message); err != nil {
		return err
	}
	return s.quiet("work", "git", "push", "-q", "origin", "main")
}

// diff shows what the last pass changed in the manifests on the output branch.
func (s *stage) diff() error {
	return s.show("monitoring.git", "git", "diff", "-U2", branch+"~1", branch, "--", "*.yaml")
}

// pipeline writes the example's pipeline file with the demo's repository in it.
func (s *stage) pipeline() error {
	text, err := os.ReadFile(s.path("work", "pipeline.yaml"))
	if err != nil {
		return err
	}
	const url, auth = "https://git.example.com/platform/monitoring.git", "      auth:\n        passwordEnv: GIT_TOKEN\n"
	local := strings.NewReplacer(url, "file://"+filepath.ToSlash(s.path("monitoring.git")), auth,
		"").Replace(string(text))
	return os.WriteFile(s.path("pipeline.yaml"), []byte(local), 0o666)
}

// tree prints the files of the output branch.
func (s *stage) tree() error {
	list, err := s.command("monitoring.git", "git", "ls-tree", "-r", "--name-only", branch).Output()
	if err != nil {
		return err
	}
	printed := map[string]bool{".": true}
	for file := range strings.Lines(string(list)) {
		s.printTree(strings.TrimSpace(file), printed)
	}
	return nil
}

// printTree prints a path below its folders, each of which is printed once.
func (s *stage) printTree(p string, printed map[string]bool) {
	if printed[p] {
		return
	}
	printed[p] = true
	s.printTree(path.Dir(p), printed)
	fmt.Fprintf(s.out, "%s%s\n", strings.Repeat("    ", strings.Count(p, "/")), path.Base(p))
}

// head prints the first lines of a file on the output branch.
func (s *stage) head(file string, lines int) error {
	fmt.Fprintf(s.out, "$ git show %s:%s\n", branch, file)
	text, err := s.command("monitoring.git", "git", "show", branch+":"+file).Output()
	if err != nil {
		return err
	}
	all := strings.SplitAfter(string(text), "\n")
	shown := all[:min(len(all), lines)]
	fmt.Fprint(s.out, strings.Join(shown, ""))
	if rest := len(all) - len(shown); rest > 0 {
		fmt.Fprintf(s.out, "... and %d lines more\n", rest)
	}
	return nil
}
