package gitsync_test

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/rogpeppe/go-internal/testscript"

	"github.com/agentry-dev/agentry/gitsync"
	"github.com/agentry-dev/agentry/gitsync/pipeline"
	"github.com/agentry-dev/agentry/inputs/helm"
	"github.com/agentry-dev/agentry/inputs/sops"
)

var update = flag.Bool("update", false, "rewrite the expected reports in testdata/stories")

// TestStories runs testdata/stories/*.txtar: what somebody commits, and what a pass makes of it. A story has a
// pipeline.yaml, and a folder for each repository https://git.example.com/FOLDER that it names. After a pass, the
// folder branch has the files of the output branch, and the file message is that of its newest commit, without
// trailers. Besides those of testscript, there are these commands:
//
//	team NAME...               writes the agent of a team and its monitor web to source/in/NAME
//	put FOLDER TARGET          copies the files of a folder into another one
//	edit FILE OLD NEW          replaces a text in a file, which must have it; \n is a new line
//	commit FOLDER [MESSAGE]    commits a folder to the branch main of its repository
//	force FOLDER               commits a folder by a forced push, after which nobody has the commits before it
//	rename FOLDER              renames the branch main of a repository to old
//	remove FOLDER              takes a repository away
//	absent TEXT [FOLDER]       fails if a file below branch/FOLDER has a text
//	secret TEXT                fails if the last report has a text, or a file of the branch that is not a Secret
//	keys FILE...               decrypts with these keys of inputs/sops/testdata, which is $SOPS
//	pass [-dry-run] [-allow-deletions COMMIT]    commits what has changed in all folders, makes a pass and prints it
//
// The commits of a repository are numbered, so source@2 is the second one of source. Each pass is made by a process
// that has made the passes before it, and by a replica that knows nothing, which must do the same.
func TestStories(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:             filepath.Join("testdata", "stories"),
		UpdateScripts:   *update,
		ContinueOnError: true,
		Setup: func(e *testscript.Env) error {
			s, err := newStory(e.T().(testing.TB), e.WorkDir)
			e.Values[storyKey{}] = s
			e.Setenv("SOPS", s.sealed)
			return err
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"team":   storyCommand((*story).team),
			"edit":   storyCommand((*story).edit),
			"commit": storyCommand((*story).commit),
			"force":  storyCommand((*story).force),
			"put":    storyCommand((*story).put),
			"rename": storyCommand((*story).rename),
			"remove": storyCommand((*story).remove),
			"absent": storyCommand((*story).absent),
			"secret": storyCommand((*story).secret),
			"keys":   storyCommand((*story).keys),
			"pass":   storyCommand((*story).pass),
		},
	})
}

type storyKey struct{}

// storyCommand makes a command of a method.
func storyCommand(do func(s *story, out io.Writer, args []string) error) func(*testscript.TestScript, bool, []string) {
	return func(ts *testscript.TestScript, neg bool, args []string) {
		err := do(ts.Value(storyKey{}).(*story), ts.Stdout(), args)
		if neg && err != nil {
			fmt.Fprintln(ts.Stderr(), err)
			return
		}
		ts.Check(err)
		if neg {
			ts.Fatalf("it did not fail")
		}
	}
}

// story is a pipeline over repositories in memory, which are folders below dir.
type story struct {
	t          testing.TB
	dir        string
	host       *host
	remotes    map[string]*remote
	written    map[string]tree   // the folders as they were committed, or written after a pass
	branch     tree              // what the output branch has
	minute     int               // of the last commit
	names      map[string]string // of commits, by id
	options    gitsync.Options
	sealed     string     // the folder of what sops encrypted, and of keys for it
	decryption []sops.Key // with which it decrypts
	report     string     // the last one
	text       string     // of the pipeline that syncer is for
	spec       pipeline.Spec
	syncer     *gitsync.Syncer
}

const (
	storyHost  = "https://git.example.com"
	storyInput = "source" // the folder of the repository that most stories need
	branchDir  = "branch" // the folder of the output branch
)

func newStory(t testing.TB, dir string) (*story, error) {
	sealed, err := filepath.Abs(filepath.Join("..", "inputs", "sops", "testdata"))
	charts := helm.NewWorkers(helm.Options{Command: []string{os.Args[0]}, Env: []string{chartsEnv + "=1"}})
	t.Cleanup(charts.Close)
	decrypting := sops.NewWorkers(sops.Options{Command: []string{os.Args[0]}, Env: []string{sopsEnv + "=1"}})
	t.Cleanup(decrypting.Close)
	return &story{t: t, dir: dir, sealed: sealed, host: newHost(t), remotes: map[string]*remote{},
		written: map[string]tree{}, names: map[string]string{},
		options: gitsync.Options{CacheDir: t.TempDir(), Version: "v0.0.0-test", KeepBytes: 1, Charts: charts,
			SOPS: decrypting}}, err
}

func (s *story) team(_ io.Writer, names []string) error {
	var err error
	for _, name := range names {
		folder := path.Join(storyInput, "in", name)
		err = errors.Join(err, s.save(folder+"/agent.yaml", agent(name)),
			s.save(folder+"/web.yaml", monitor(name, "web", "http")))
	}
	return err
}

// newLines are written as they are in Go.
var newLines = strings.NewReplacer(`\n`, "\n")

func (s *story) edit(_ io.Writer, args []string) error {
	if len(args) != 3 {
		return fmt.Errorf("usage: edit FILE OLD NEW")
	}
	name := filepath.Join(s.dir, args[0])
	text, err := os.ReadFile(name)
	old := newLines.Replace(args[1])
	if err == nil && !strings.Contains(string(text), old) {
		err = fmt.Errorf("%s does not have %q", args[0], old)
	}
	if err != nil {
		return err
	}
	return os.WriteFile(name, []byte(strings.ReplaceAll(string(text), old, newLines.Replace(args[2]))), 0o666)
}

func (s *story) commit(_ io.Writer, args []string) error {
	if len(args) == 0 {
		return fmt.Errorf("usage: commit FOLDER [MESSAGE]")
	}
	files, err := s.read(args[0])
	if err != nil {
		return err
	}
	s.minute++
	message := cmp.Or(newLines.Replace(strings.Join(args[1:], " ")), "Change")
	id := s.remote(args[0]).commit("main", files, s.minute, message).String()
	s.written[args[0]] = files
	s.name(args[0], id)
	return nil
}

func (s *story) force(out io.Writer, args []string) error {
	delete(s.remote(args[0]).refs, "refs/heads/main")
	return s.commit(out, args)
}

func (s *story) rename(_ io.Writer, folders []string) error {
	for _, folder := range folders {
		refs := s.remote(folder).refs
		refs["refs/heads/old"] = refs["refs/heads/main"]
		delete(refs, "refs/heads/main")
	}
	return nil
}

func (s *story) put(_ io.Writer, args []string) error {
	files, err := s.read(args[0])
	for name, e := range files {
		err = errors.Join(err, s.save(path.Join(args[1], name), s.shown(e.text)))
	}
	return err
}

// save writes a file.
func (s *story) save(name, text string) error {
	name = filepath.Join(s.dir, name)
	if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
		return err
	}
	return os.WriteFile(name, []byte(text), 0o666)
}

func (s *story) remove(_ io.Writer, folders []string) error {
	for _, folder := range folders {
		delete(s.host.remote, folder)
	}
	return nil
}

func (s *story) absent(_ io.Writer, args []string) error {
	for name, e := range s.written[branchDir] {
		if strings.Contains(e.text, args[0]) && strings.HasPrefix(name, strings.Join(args[1:], "")) {
			return fmt.Errorf("%s has %q", name, args[0])
		}
	}
	return nil
}

func (s *story) secret(_ io.Writer, args []string) error {
	if strings.Contains(s.report, args[0]) {
		return fmt.Errorf("the report has %q", args[0])
	}
	for name, e := range s.written[branchDir] {
		if strings.Contains(e.text, args[0]) && !strings.HasSuffix(name, ".secret.yaml") {
			return fmt.Errorf("%s has %q", name, args[0])
		}
	}
	return nil
}

func (s *story) keys(_ io.Writer, names []string) error {
	s.decryption, s.text = nil, "" // for a new process
	for _, name := range names {
		text, err := os.ReadFile(filepath.Join(s.sealed, name))
		if err != nil {
			return err
		}
		s.decryption = append(s.decryption, sops.Key{Name: name, Text: text})
	}
	return nil
}

func (s *story) remote(folder string) *remote {
	if s.remotes[folder] == nil {
		s.remotes[folder] = s.host.add(folder)
	}
	return s.remotes[folder]
}

// name numbers a commit that has no number.
func (s *story) name(folder, id string) {
	if _, found := s.names[id]; !found {
		n := 1
		for _, name := range s.names {
			if strings.HasPrefix(name, folder+"@") {
				n++
			}
		}
		s.names[id] = fmt.Sprintf("%s@%d", folder, n)
	}
}

var (
	commitID   = regexp.MustCompile(`\b[0-9a-f]{7,40}\b`)
	commitName = regexp.MustCompile(`\b[a-z]+@[0-9]+\b`)
)

// shown is a text with the URL of stories and the numbers of commits, and meant is the reverse.
func (s *story) shown(text string) string {
	return commitID.ReplaceAllStringFunc(strings.ReplaceAll(text, s.host.url, storyHost), func(id string) string {
		for full, name := range s.names {
			if strings.HasPrefix(full, id) {
				return name
			}
		}
		return id
	})
}

func (s *story) meant(text string) string {
	return commitName.ReplaceAllStringFunc(strings.ReplaceAll(text, storyHost, s.host.url), func(name string) string {
		for id, n := range s.names {
			if n == name {
				return id
			}
		}
		return name
	})
}

// read returns the files of a folder.
func (s *story) read(folder string) (tree, error) {
	out, root := tree{}, filepath.Join(s.dir, folder)
	err := filepath.WalkDir(root, func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, err := filepath.Rel(root, file)
		if err != nil {
			return err
		}
		if d.Type() == fs.ModeSymlink {
			target, err := os.Readlink(file)
			out[name] = entry{text: target, mode: filemode.Symlink}
			return err
		}
		text, err := os.ReadFile(file)
		out[name] = entry{text: s.meant(string(text))}
		return err
	})
	if os.IsNotExist(err) {
		return tree{}, nil
	}
	return out, err
}
