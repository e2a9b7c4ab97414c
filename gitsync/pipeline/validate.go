package pipeline

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/go-git/go-git/v5/plumbing"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/generator/passthrough"
	"github.com/agentry-dev/agentry/generator/runtimes"
	"github.com/agentry-dev/agentry/generator/runtimes/alloy/catalogue"
	"github.com/agentry-dev/agentry/internal/lazyregexp"
)

var (
	authorForm = lazyregexp.New(`^[^<>\n]*[^<>\s] <[^<>\s]+>$`)
	commitForm = lazyregexp.New(`^[0-9a-f]{40}$`)
)

// Validate returns the errors of a pipeline after [Pipeline.Default], in addition to those that its schema finds. It
// uses only the pipeline: no files, no network.
func (p *Pipeline) Validate() diag.List {
	var f findings
	problem, hint := diag.SubdomainName(p.Metadata.Name)
	if p.Spec.ForEach != "" {
		hint = "" // it would name a sample folder
	}
	f.check(problem == "", "metadata.name", hint, "%s", problem)
	f.add(validateSpec(&p.Spec))
	f.add(validateRollout("spec.rollout", p.Metadata.Name, p.Spec.Rollout))
	return diag.List(f)
}

// findings are the errors of a part of a pipeline. The function that checks the part returns them.
type findings diag.List

// add appends the errors of a part.
func (f *findings) add(part findings) { *f = append(*f, part...) }

// check adds an error unless ok is true.
func (f *findings) check(ok bool, path, hint, format string, args ...any) {
	if !ok {
		*f = append(*f, diag.PipelineInvalid.At(path, format, args...).WithHint(hint))
	}
}

// name adds an error if a name is not valid.
func (f *findings) name(path, name string, check func(string) (problem, hint string)) {
	problem, hint := check(name)
	f.check(problem == "", path, hint, "%s", problem)
}

// all adds an error for each message of Kubernetes' validation.
func (f *findings) all(path string, messages []string) {
	for _, m := range messages {
		f.check(false, path, "", "%s", diag.NameRule(m))
	}
}

// validateNamespaces checks where namespaces come from.
func validateNamespaces(s *Spec) findings {
	var f findings
	if s.DefaultNamespace != "" {
		f.name("spec.defaultNamespace", s.DefaultNamespace, diag.LabelName)
	}
	if s.NamespaceFrom != "" {
		err := manifest.CheckNamespaceFrom(s.NamespaceFrom)
		f.check(err == nil, "spec.namespaceFrom", "", "%v", err)
	}
	for _, d := range manifest.Namespaces(s.Namespaces, "").Diags {
		f.check(false, "spec.namespaces["+d.Object.Name+"]", d.Hint, "%s", d.Problem())
	}
	return f
}

// validateRuntimes checks which programs pods run, and Alloy's settings.
func validateRuntimes(s *Spec) findings {
	var f findings
	f.check(s.Runtimes.Allows(s.Runtime), "spec.runtimes.allowed", "add "+string(s.Runtime)+", or set another runtime",
		"lacks %s, which GrafanaAgents without the annotation %s run", s.Runtime, runtimes.Annotation)
	hasAlloy, hint := s.Runtimes.Allows(RuntimeAlloy), "allow alloy in runtimes.allowed, or remove it"
	if s.RuntimeVersion != "" {
		f.check(hasAlloy, "spec.runtimeVersion", hint, "is the version of Alloy, which no pod may run")
		_, err := catalogue.ParseVersion(s.RuntimeVersion)
		f.check(err == nil, "spec.runtimeVersion", "write it like "+catalogue.Default().String(), "%v", err)
	}
	f.check(s.Sharding != ShardingClustering || hasAlloy, "spec.sharding", hint,
		"clustering needs Alloy, which no pod may run")
	return f
}

func validateSpec(s *Spec) findings {
	var f findings
	f.check(s.Interval == nil || s.Interval.Duration >= MinInterval, "spec.interval", "write it like 30s or 5m",
		"must be at least %s", MinInterval)
	f.add(validateForEach(s.ForEach))
	f.add(validateRuntimes(s))
	f.check(s.FailOn != diag.Warning || s.OnInvalid == OnInvalidFail, "spec.failOn", "write onInvalid: fail as well",
		"warning has no effect without onInvalid: fail")
	f.add(validateNamespaces(s))
	f.add(validateTenancy(s))
	f.add(validateIgnore("spec.ignore", s.Ignore))
	if _, i, hint, err := passthrough.Parse(s.PassThrough.Kinds); err != nil {
		f.check(false, fmt.Sprintf("spec.passThrough.kinds[%d]", i), hint, "%v", err)
	}
	if field, err := s.Cluster.Check(); err != nil {
		f.check(false, "spec.cluster."+field, "", "%v", err)
	}
	f.add(validateCharts("spec.charts", s.Charts))
	f.add(validateBuild(s.Build))
	f.check(len(s.Sources) > 0, "spec.sources", "name the repository to read: a list item with url and ref.branch",
		"at least one source is required")
	for i, source := range s.Sources {
		f.add(validateSource(fmt.Sprintf("spec.sources[%d]", i), source))
	}
	f.add(validateSourceRefs(s))
	f.add(validateOutput("spec.output", s))
	f.add(validateDelivery("spec.output", s))
	for i, n := range s.Notify {
		f.add(validateNotify(fmt.Sprintf("spec.notify[%d]", i), n))
	}
	f.add(validateOperator("spec.operator", s.Operator))
	f.add(validateSecrets("spec.secrets", s.Secrets))
	f.add(validateSDAggregator("spec.sdAggregator", &s.SDAggregator))
	f.add(validateIntegrations("spec.integrations", s.Integrations))
	f.add(validateChanges(s))
	f.add(validateSelfMonitoring("spec.selfMonitoring", s.SelfMonitoring))
	_, err := s.Limits.MaxDeletions()
	f.check(err == nil, "spec.limits.deletions", "write it like 50%", "must be a percentage from 0%% to 100%%")
	f.check(s.Limits.AllowFor == "" || commitForm.MatchString(s.Limits.AllowFor), "spec.limits.allowFor",
		"git rev-parse prints it", "must be a full commit id")
	return f
}

func validateSource(path string, s Source) findings {
	var f findings
	f.add(validateRepositoryURL(path+".url", s.URL))
	f.add(validateRef(path+".ref", s.Ref))
	for i, p := range s.Paths {
		f.add(validateRepositoryPath(fmt.Sprintf("%s.paths[%d]", path, i), p))
	}
	f.add(validateAuth(path+".auth", s.URL, s.Auth))
	f.add(validateVerify(path+".verify", s.Verify))
	f.add(validateWebhook(path+".webhook", s.URL, s.Webhook))
	if s.Forge != nil {
		f.add(validateForge(path+".forge", s.Forge, s.Auth))
	}
	f.add(validatePreviews(path+".previews", s))
	return f
}

func validateRef(path string, r Ref) findings {
	var f findings
	set := 0
	for _, value := range []string{r.Branch, r.Tag, r.SemVer, r.Commit, r.Name} {
		if value != "" {
			set++
		}
	}
	f.check(set == 1, path, "", "exactly one of branch, tag, semver, commit and name is required")
	if r.Branch != "" {
		f.add(validateBranch(path+".branch", r.Branch))
	}
	f.check(r.Tag == "" || plumbing.NewTagReferenceName(r.Tag).Validate() == nil, path+".tag", "",
		"is not a name that Git allows")
	f.check(r.Commit == "" || commitForm.MatchString(r.Commit), path+".commit", "git rev-parse prints it",
		"must be a full commit id")
	f.check(r.Name == "" || strings.HasPrefix(r.Name, "refs/") && plumbing.ReferenceName(r.Name).Validate() == nil,
		path+".name", "", "must be a full reference name, such as refs/heads/main")
	return f
}

func validateBranch(path, name string) findings {
	var f findings
	short := strings.TrimPrefix(name, "refs/heads/")
	f.check(short == name, path, "write "+short, "is a full reference name; only the branch is wanted")
	f.check(plumbing.NewBranchReferenceName(short).Validate() == nil, path, "", "is not a name that Git allows")
	return f
}

// validateRepositoryPath refuses paths that could leave the repository or lead to Git's own files.
func validateRepositoryPath(field, p string) findings {
	var f findings
	f.check(!strings.HasPrefix(p, "/") && !strings.Contains(p, `\`), field, "",
		"must be relative to the repository's root and slash-separated")
	f.check(p != "", field, "write . for the repository's root", "must not be empty")
	unprintable := func(r rune) bool { return !unicode.IsPrint(r) }
	f.check(!strings.ContainsFunc(p, unprintable), field, "",
		"must not hold line breaks and other characters that cannot be printed")
	for part := range strings.SplitSeq(path.Clean("./"+p), "/") {
		f.check(part != "..", field, "", "must not leave the repository")
		f.check(!strings.EqualFold(part, ".git"), field, "", "must not reach into .git")
	}
	return f
}

func validateOutput(path string, s *Spec) findings {
	var f findings
	o := s.Output
	if len(s.Sources) > 0 && o.URL != s.Sources[0].URL {
		f.add(validateRepositoryURL(path+".url", o.URL))
	}
	f.check(o.Branch != "", path+".branch", "write it like environments/prod", "is required")
	if o.Branch != "" {
		f.add(validateBranch(path+".branch", o.Branch))
	}
	f.add(validateRepositoryPath(path+".path", o.Path))
	if !s.InheritsAuth() {
		f.add(validateAuth(path+".auth", o.URL, o.Auth))
	}
	f.check(authorForm.MatchString(o.Commit.Author), path+".commit.author", "", "must be written Name <mail>")
	_, err := FormatMessage(o.Commit.Message, sampleMessage(len(s.Sources)))
	f.check(err == nil, path+".commit.message", "", "%v", err)
	f.check(o.Commit.SigningKeyPassphraseFile+o.Commit.SigningKeyPassphraseEnv == "" ||
		o.Commit.SigningKeyFile+o.Commit.SigningKeyEnv != "", path+".commit", "", "a passphrase needs a signing key")
	for i, source := range s.Sources {
		if o.isReadBy(source) {
			f = append(f, diag.PipelineConflict.At(path+".path", "lies among the inputs that spec.sources[%d] reads",
				i).
				WithHint("write to another branch or folder"))
		}
	}
	return f
}

func validateOperator(path string, o Operator) findings {
	var f findings
	for _, key := range slices.Sorted(maps.Keys(o.Labels)) {
		f.all(path+".labels["+key+"]",
			append(validation.IsQualifiedName(key), validation.IsValidLabelValue(o.Labels[key])...))
	}
	_, err := labels.Parse(o.AgentSelector)
	f.check(err == nil, path+".agentSelector", "", "%v", err)
	return f
}

// MaxDeletions returns Deletions as a number. It returns an error if Deletions is not a percentage.
func (l Limits) MaxDeletions() (percent int, err error) {
	number, ok := strings.CutSuffix(l.Deletions, "%")
	percent, err = strconv.Atoi(number)
	if !ok || err != nil || percent < 0 || percent > 100 {
		return 0, fmt.Errorf("%q is not a percentage from 0%% to 100%%", l.Deletions)
	}
	return percent, nil
}

// sampleMessage returns the data that a template is checked with: a commit of each source and no units, because
// a commit can have no units of a kind.
func sampleMessage(sources int) Message {
	m := Message{Pipeline: "sample"}
	for range max(1, sources) {
		m.Sources = append(m.Sources, MessageSource{URL: "https://git.example.com/a.git",
			Commit: strings.Repeat("0", 40), Subject: "Subject", Author: "A <a@example.com>"})
	}
	return m
}
