package cli

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestHoldingPage types docs/holding.md, with the files at its top committed and rendered once. Its commands must print
// what the page shows. With -update the page gets what they print.
func TestHoldingPage(t *testing.T) {
	needTools(t)
	page := readPage(t, "holding.md")
	files, story, _ := strings.Cut(page, "\n## ")
	comparePage(t, "holding.md", page, files+"\n## "+newTerminal(t, files).play(story))
}

// TestHoldingReference types each section of docs/holding-reference.md, which begins as docs/holding.md does.
func TestHoldingReference(t *testing.T) {
	needTools(t)
	files, _, _ := strings.Cut(readPage(t, "holding.md"), "\n## ")
	page := readPage(t, "holding-reference.md")
	sections := strings.Split(page, "\n## ")
	for rule := 1; rule <= 14; rule++ {
		example := regexp.MustCompile(fmt.Sprintf("(?s)^%d\\. .*```console\n", rule))
		if !slices.ContainsFunc(sections, example.MatchString) {
			t.Errorf("rule %d has no example", rule)
		}
	}
	played := slices.Clone(sections)
	t.Run("sections", func(t *testing.T) {
		for i, section := range sections {
			if !strings.Contains(section, "```console\n") {
				continue
			}
			title, _, _ := strings.Cut(section, "\n")
			t.Run(title, func(t *testing.T) {
				t.Parallel()
				played[i] = newTerminal(t, files).play(section)
			})
		}
	})
	comparePage(t, "holding-reference.md", page, strings.Join(played, "\n## "))
}

func pageFile(name string) string { return filepath.Join("..", "..", "docs", name) }

func readPage(t *testing.T, name string) string {
	t.Helper()
	page, err := os.ReadFile(pageFile(name))
	if err != nil {
		t.Fatal(err)
	}
	return string(page)
}

// comparePage compares a page with what its commands print. With -update the page gets that.
func comparePage(t *testing.T, name, page, printed string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(pageFile(name), []byte(printed), 0o666); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(page, printed); diff != "" {
		t.Errorf("docs/%s does not say what is printed; look at what -update makes of it (-page +printed):\n%s", name,
			diff)
	}
}

// needTools fails without the programs that sessions of pages use.
func needTools(t *testing.T) {
	t.Helper()
	for _, program := range []string{"git", "sed", "sh"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Fatal("the page is typed into a shell: ", err)
		}
	}
	if out, err := exec.Command("sed", "--version").Output(); err != nil || !strings.Contains(string(out), "GNU") {
		t.Fatal("the page edits files with GNU sed, which is not the sed here")
	}
}

// terminal runs sessions in a folder of its own, which the page calls /srv.
type terminal struct {
	t   *testing.T
	srv string
	day int // of the last commit
}

// newTerminal makes a repository of the files in the page's head and renders it once.
func newTerminal(t *testing.T, head string) *terminal {
	s := &terminal{t: t, srv: t.TempDir()}
	s.run("git init -q monitoring", s.srv)
	for _, block := range blocks(head) {
		s.write(block)
	}
	s.run("git add . && git commit -qm Start && agentry sync -f ../prod.yaml", s.repo())
	return s
}

func (s *terminal) repo() string { return filepath.Join(s.srv, "monitoring") }

// fenced matches the blocks of a page that are files or sessions.
var fenced = regexp.MustCompile("(?ms)^```(yaml|console)\n(.*?)^```$")

func blocks(text string) []string { return fenced.FindAllString(text, -1) }

// play runs the sessions of a section, and returns it with what was printed.
func (s *terminal) play(section string) string {
	return fenced.ReplaceAllStringFunc(section, func(block string) string {
		if body, session := strings.CutPrefix(block, "```console\n"); session {
			return "```console\n" + s.session(strings.TrimSuffix(body, "```")) + "```"
		}
		s.write(block)
		return block
	})
}

// fileName matches the comment that begins a file of a block.
var fileName = regexp.MustCompile(`(?m)^# (\S+\.yaml)\n`)

// write writes the files of a block.
func (s *terminal) write(block string) {
	body := strings.TrimSuffix(strings.TrimPrefix(block, "```yaml\n"), "```")
	names, texts := fileName.FindAllStringSubmatch(body, -1), fileName.Split(body, -1)[1:]
	for i, text := range texts {
		text = strings.ReplaceAll(strings.TrimSuffix(text, "---\n"), "/srv/", s.srv+"/")
		file := filepath.Join(s.repo(), filepath.FromSlash(names[i][1]))
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o777), os.WriteFile(file, []byte(text), 0o666)); err !=
			nil {
			s.t.Fatal(err)
		}
	}
}

// session runs the commands of a session. A line that begins with > goes on with the one
// before, as shells prompt for it.
func (s *terminal) session(text string) string {
	var out strings.Builder
	lines := strings.SplitAfter(text, "\n")
	for i := 0; i < len(lines); i++ {
		command, typed := strings.CutPrefix(lines[i], "$ ")
		if !typed {
			continue // what was printed when the page was written
		}
		out.WriteString(lines[i])
		for i+1 < len(lines) && strings.HasPrefix(lines[i+1], "> ") {
			i++
			out.WriteString(lines[i])
			command += strings.TrimPrefix(lines[i], "> ")
		}
		out.WriteString(s.run(command, s.repo()))
	}
	return out.String()
}

// run runs a command and returns what it prints. Each commit is dated a day later than the one before.
func (s *terminal) run(command, folder string) string {
	s.t.Helper()
	if strings.Contains(command, "git commit") {
		s.day++
	}
	date := time.Date(2026, 1, 4+s.day, 9, 0, 0, 0, time.UTC).Format(time.RFC3339)
	cmd := exec.CommandContext(s.t.Context(), "sh", "-c", command)
	cmd.Dir = folder
	cmd.Env = append(os.Environ(), "HOME="+s.srv, "XDG_CACHE_HOME="+filepath.Join(s.srv, ".cache"),
		"GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_COUNT=1",
		"GIT_CONFIG_KEY_0=init.defaultBranch", "GIT_CONFIG_VALUE_0=main",
		"GIT_AUTHOR_NAME=Ada", "GIT_AUTHOR_EMAIL=ada@example.com", "GIT_COMMITTER_NAME=Ada",
		"GIT_COMMITTER_EMAIL=ada@example.com",
		"GIT_AUTHOR_DATE="+date, "GIT_COMMITTER_DATE="+date, "LC_ALL=C.UTF-8")
	var errs strings.Builder
	cmd.Stderr = &errs
	out, err := cmd.Output()
	printed := s.anonymous(string(out))
	code := 0
	if failed, ok := errors.AsType[*exec.ExitError](err); ok {
		code = failed.ExitCode()
	} else if err != nil {
		s.t.Fatal(err)
	}
	if want := wantedCode(printed); code != want {
		s.t.Errorf("%s: exit code %d, want %d\n%s%s", command, code, want, printed, errs.String())
	}
	return printed
}

// wantedCode is 1 where something wrong was printed, whatever printed it.
func wantedCode(printed string) int {
	if strings.Contains(printed, "not ready") || strings.Contains(printed, "error[") ||
		strings.Contains(printed, "Not rendered") {
		return 1
	}
	return 0
}

// pushed finds commits of the output branch in what sync prints.
var pushed = regexp.MustCompile(`(pushed|/prod of \S+, at) [0-9a-f]{7}\b`)

// anonymous replaces what differs from machine to machine: the folder, and commits of the output branch, which name the
// version of agentry.
func (s *terminal) anonymous(printed string) string {
	printed = strings.ReplaceAll(printed, s.srv, "/srv")
	return pushed.ReplaceAllString(printed, "$1 "+"0c0ffee")
}
