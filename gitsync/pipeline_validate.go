package gitsync

import (
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/agentry-dev/agentry/generator/diag"
)

// FieldError is a wrong value in a pipeline.
type FieldError struct {
	Path    string // spec.sources[0].url
	Code    diag.Code
	Message string
	Hint    string
}

// Error implements error.
func (e FieldError) Error() string { return e.Path + ": " + e.Message }

var (
	authorForm = regexp.MustCompile(`^[^<>\n]*[^<>\s] <[^<>\s]+>$`)
	commitForm = regexp.MustCompile(`^[0-9a-f]{40}$`)
)

// Validate finds what is wrong with a pipeline after [Pipeline.Default]. It looks at
// nothing but the pipeline: no file, no network.
func (p *Pipeline) Validate() []FieldError {
	v := &validator{}
	v.check(p.APIVersion == APIVersion, "apiVersion", "", "must be %s", APIVersion)
	v.check(p.Kind == Kind, "kind", "", "must be %s", Kind)
	v.all("metadata.name", validation.IsDNS1123Subdomain(p.Metadata.Name))
	v.spec(&p.Spec)
	v.rollout("spec.rollout", p.Metadata.Name, p.Spec.Rollout)
	return v.found
}

// validator collects errors.
type validator struct {
	found []FieldError
}

// check adds an error unless the condition holds.
func (v *validator) check(ok bool, path, hint, format string, args ...any) {
	if !ok {
		v.found = append(v.found, FieldError{Path: path, Code: diag.PipelineInvalid, Message: fmt.Sprintf(format, args...), Hint: hint})
	}
}

// all adds an error for each message.
func (v *validator) all(path string, messages []string) {
	for _, m := range messages {
		v.check(false, path, "", "%s", m)
	}
}

// oneOf checks an enumeration; reserved values are known, but not acted on yet.
func oneOf[T ~string](v *validator, path string, value T, allowed []T, reserved ...T) {
	switch {
	case slices.Contains(allowed, value):
	case value == "":
		v.check(false, path, "use "+orList(allowed), "is required")
	case slices.Contains(reserved, value):
		v.found = append(v.found, FieldError{
			Path: path, Code: diag.PipelineUnsupported,
			Message: fmt.Sprintf("%q is not supported yet", value), Hint: "use " + orList(allowed),
		})
	default:
		v.check(false, path, "use "+orList(allowed), "%q is not known", value)
	}
}

func orList[T ~string](values []T) string {
	names := make([]string, len(values))
	for i, value := range values {
		names[i] = string(value)
	}
	return strings.Join(names, " or ")
}

func (v *validator) spec(s *PipelineSpec) {
	v.check(s.Interval == nil || s.Interval.Duration >= MinInterval, "spec.interval", "write it like 30s or 5m", "must be at least %s", MinInterval)
	v.forEach(s.ForEach)
	oneOf(v, "spec.compatibility", s.Compatibility, []Compatibility{CompatibilityOperator}, CompatibilityCurrent)
	oneOf(v, "spec.onInvalid", s.OnInvalid, []OnInvalid{OnInvalidHold, OnInvalidFail})
	if s.DefaultNamespace != "" {
		v.all("spec.defaultNamespace", validation.IsDNS1123Label(s.DefaultNamespace))
	}
	v.check(len(s.Sources) > 0, "spec.sources", "", "at least one source is required")
	for i, source := range s.Sources {
		v.source(fmt.Sprintf("spec.sources[%d]", i), source)
	}
	v.output("spec.output", s)
	v.delivery("spec.output", s)
	for i, n := range s.Notify {
		v.notify(fmt.Sprintf("spec.notify[%d]", i), n)
	}
	v.operator("spec.operator", s.Operator)
	oneOf(v, "spec.secrets.policy", s.Secrets.Policy, []SecretsPolicy{SecretsReference, SecretsPlaintext}, SecretsSOPS)
	v.sdAggregator("spec.sdAggregator", &s.SDAggregator)
	v.integrations("spec.integrations", s.Integrations)
	_, err := s.Limits.MaxDeletions()
	v.check(err == nil, "spec.limits.deletions", "write it like 50%", "must be a percentage from 0%% to 100%%")
	v.check(s.Limits.AllowFor == "" || commitForm.MatchString(s.Limits.AllowFor), "spec.limits.allowFor", "git rev-parse prints it", "must be a full commit id")
}

func (v *validator) source(path string, s Source) {
	v.url(path+".url", s.URL)
	v.ref(path+".ref", s.Ref)
	for i, p := range s.Paths {
		v.repositoryPath(fmt.Sprintf("%s.paths[%d]", path, i), p)
	}
	v.auth(path+".auth", s.URL, s.Auth)
	v.verify(path+".verify", s.Verify)
	v.webhook(path+".webhook", s.URL, s.Webhook)
	if s.Forge != nil {
		v.forge(path+".forge", s.Forge, s.Auth)
	}
	v.previews(path+".previews", s)
}

func (v *validator) ref(path string, r Ref) {
	set := 0
	for _, value := range []string{r.Branch, r.Tag, r.SemVer, r.Commit, r.Name} {
		if value != "" {
			set++
		}
	}
	v.check(set == 1, path, "", "exactly one of branch, tag, semver, commit and name is required")
	if r.Branch != "" {
		v.branch(path+".branch", r.Branch)
	}
	v.check(r.Tag == "" || plumbing.NewTagReferenceName(r.Tag).Validate() == nil, path+".tag", "", "is not a name that Git allows")
	v.check(r.Commit == "" || commitForm.MatchString(r.Commit), path+".commit", "git rev-parse prints it", "must be a full commit id")
	v.check(r.Name == "" || strings.HasPrefix(r.Name, "refs/") && plumbing.ReferenceName(r.Name).Validate() == nil,
		path+".name", "", "must be a full reference name, such as refs/heads/main")
}

func (v *validator) branch(path, name string) {
	short := strings.TrimPrefix(name, "refs/heads/")
	v.check(short == name, path, "write "+short, "is a full reference name; only the branch is wanted")
	v.check(plumbing.NewBranchReferenceName(short).Validate() == nil, path, "", "is not a name that Git allows")
}

// repositoryPath refuses what could leave the repository or reach into Git's own files.
func (v *validator) repositoryPath(field, p string) {
	v.check(!strings.HasPrefix(p, "/") && !strings.Contains(p, `\`), field, "", "must be relative to the repository's root and slash-separated")
	v.check(p != "", field, "write . for the repository's root", "must not be empty")
	for part := range strings.SplitSeq(path.Clean("./"+p), "/") {
		v.check(part != "..", field, "", "must not leave the repository")
		v.check(!strings.EqualFold(part, ".git"), field, "", "must not reach into .git")
	}
}

func (v *validator) output(path string, s *PipelineSpec) {
	o := s.Output
	if len(s.Sources) > 0 && o.URL != s.Sources[0].URL {
		v.url(path+".url", o.URL)
	}
	v.check(o.Branch != "", path+".branch", "", "is required")
	if o.Branch != "" {
		v.branch(path+".branch", o.Branch)
	}
	v.repositoryPath(path+".path", o.Path)
	if !s.InheritsAuth() {
		v.auth(path+".auth", o.URL, o.Auth)
	}
	v.check(authorForm.MatchString(o.Commit.Author), path+".commit.author", "", "must be written Name <mail>")
	_, err := FormatMessage(o.Commit.Message, sampleMessage(len(s.Sources)))
	v.check(err == nil, path+".commit.message", "", "%v", err)
	v.signing(path+".commit", o.Commit)
	for i, source := range s.Sources {
		if o.among(source) {
			v.found = append(v.found, FieldError{
				Path: path + ".path", Code: diag.PipelineConflict,
				Message: fmt.Sprintf("lies among the inputs that spec.sources[%d] reads", i), Hint: "write to another branch or folder",
			})
		}
	}
}

func (v *validator) operator(path string, o Operator) {
	for _, key := range slices.Sorted(maps.Keys(o.Labels)) {
		v.all(path+".labels["+key+"]", append(validation.IsQualifiedName(key), validation.IsValidLabelValue(o.Labels[key])...))
	}
	_, err := labels.Parse(o.AgentSelector)
	v.check(err == nil, path+".agentSelector", "", "%v", err)
}

// MaxDeletions is Deletions as a number.
func (l Limits) MaxDeletions() (percent int, err error) {
	number, ok := strings.CutSuffix(l.Deletions, "%")
	percent, err = strconv.Atoi(number)
	if !ok || err != nil || percent < 0 || percent > 100 {
		return 0, fmt.Errorf("%q is not a percentage from 0%% to 100%%", l.Deletions)
	}
	return percent, nil
}

// sampleMessage is what a template is tried on: a commit of each source, and no units,
// as there need not be any of a kind.
func sampleMessage(sources int) Message {
	m := Message{Pipeline: "sample"}
	for range max(1, sources) {
		m.Sources = append(m.Sources, MessageSource{URL: "https://git.example.com/a.git", Commit: strings.Repeat("0", 40), Subject: "Subject", Author: "A <a@example.com>"})
	}
	return m
}
