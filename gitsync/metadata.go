package gitsync

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/agentry-dev/agentry/generator"
	"github.com/agentry-dev/agentry/generator/build/scrape"
	"github.com/agentry-dev/agentry/gitsync/branch"
	"github.com/agentry-dev/agentry/gitsync/foreigntext"
	"github.com/agentry-dev/agentry/gitsync/repo/object"
)

// hydrator is hydrator.metadata, the format of Argo CD's source hydrator, which
// gitops-promoter reads.
type hydrator struct {
	RepoURL    string              `json:"repoURL,omitempty"`
	DrySHA     string              `json:"drySha,omitempty"`
	Commands   []string            `json:"commands,omitempty"`
	Author     string              `json:"author,omitempty"`
	Date       string              `json:"date,omitempty"`
	Subject    string              `json:"subject,omitempty"`
	Body       string              `json:"body,omitempty"`
	References []hydratorReference `json:"references,omitempty"`
}

type hydratorReference struct {
	Commit hydratorCommit `json:"commit"`
}

type hydratorCommit struct {
	SHA     string `json:"sha,omitempty"`
	RepoURL string `json:"repoURL,omitempty"`
	Author  string `json:"author,omitempty"`
	Date    string `json:"date,omitempty"`
	Subject string `json:"subject,omitempty"`
	Body    string `json:"body,omitempty"`
}

// writeMetadata adds the files at the output path that say what it is.
func (p *pass) writeMetadata(c *change) error {
	inv := branch.Inventory{Version: branch.InventoryVersion, Pipeline: p.pipeline.Metadata.Name, Sources: p.inventorySources()}
	if err := p.writeHydrators(c); err != nil {
		return err
	}
	if err := p.writeHeld(c, &inv); err != nil {
		return err
	}
	if err := p.writeReadmes(c); err != nil {
		return err
	}
	root := map[string][]byte{generator.KustomizationFile: generator.Kustomization(c.units), branch.ReadmeFile: p.readme(), branch.AttributesFile: []byte(attributes)}
	for _, name := range []string{branch.AttributesFile, branch.ReadmeFile, generator.KustomizationFile} {
		_, exists, err := p.branch.Equals(p.branch.At(name), root[name])
		if err != nil {
			return err
		}
		if _, ours := p.branch.OwnsRoot(name); exists && !ours && name != generator.KustomizationFile {
			continue // somebody else's, from before we moved in
		}
		inv.Root = append(inv.Root, branch.FileEntry{Path: name, SHA256: branch.SHA256(root[name])})
		c.edits[p.branch.At(name)] = object.Edit{Data: root[name]}
	}
	units := append([]string{}, c.units...) // an empty list is [] and not null
	for name, v := range map[string]any{branch.InventoryFile: inv, branch.UnitsFile: units, branch.MetadataFile: p.hydrator()} {
		data, err := encodeHydrator(v)
		if err != nil {
			return err
		}
		if err := p.putMetadata(c, p.branch.At(name), data, p.branch.Inventory != nil); err != nil {
			return err
		}
	}
	return nil
}

// encodeHydrator is encodeJSON without HTML escapes, as Argo CD writes the format.
func encodeHydrator(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	err := e.Encode(v)
	return b.Bytes(), err
}

// attributes keep generated files out of a forge's language statistics and diffs.
const attributes = "**/README.md linguist-generated=true\n**/hydrator.metadata linguist-generated=true\n**/.agentry/* linguist-generated=true\n"

// unitHydrator names what a unit was rendered from: the first source's commit, or with
// promotion that of the inputs.
func (p *pass) unitHydrator() hydrator {
	h := hydrator{RepoURL: p.sources[0].Repo.URL(), DrySHA: p.commits[0].Hash.String(), Commands: []string{p.command(0)}}
	if p.promotes() {
		h.RepoURL, h.DrySHA = p.output.URL(), p.dry.String()
	}
	return h
}

// writeHydrators adds the file to the units that are written.
func (p *pass) writeHydrators(c *change) error {
	for i := range p.plan {
		plan := &p.plan[i]
		if _, written := c.edits[p.branch.At(plan.name, branch.InventoryFile)]; !written || plan.action != write {
			continue
		}
		data, err := branch.EncodeJSON(p.unitHydrator())
		if err != nil {
			return err
		}
		if err := p.putMetadata(c, p.branch.At(plan.name, branch.MetadataFile), data, plan.folder.Known); err != nil {
			return err
		}
	}
	return nil
}

// hydrator describes the first source's commit; those of the other sources, and what its
// message refers to, are references. With promotion drySha is not that commit, which then is
// the first of the references.
func (p *pass) hydrator() hydrator {
	h := p.unitHydrator()
	first := describe(p.sources[0].Repo.URL(), p.commits[0])
	h.Author, h.Date, h.Subject, h.Body = first.Author, first.Date, first.Subject, first.Body
	for i := range p.sources {
		if i > 0 || p.promotes() {
			h.References = append(h.References, hydratorReference{describe(p.sources[i].Repo.URL(), p.commits[i])})
		}
	}
	if r, ok := referenced(p.commits[0].Message); ok {
		h.References = append(h.References, hydratorReference{r})
	}
	return h
}

func describe(url string, c *object.Commit) hydratorCommit {
	subject, body := foreigntext.SplitMessage(c.Message)
	return hydratorCommit{
		SHA: c.Hash.String(), RepoURL: url, Author: foreigntext.Person(c.Author),
		Date: foreigntext.SafeDate(c.Author.When).Format(time.RFC3339), Subject: subject, Body: body,
	}
}

// command is what reproduces the manifests from a checkout of a source.
func (p *pass) command(i int) string {
	s := &p.pipeline.Spec
	args := []string{"agentry render", "--compatibility", string(s.Compatibility), "--secrets", string(s.Secrets.Policy)}
	if s.Secrets.RestartOnChange {
		args = append(args, "--secrets-restart-on-change")
	}
	if s.DefaultNamespace != "" {
		args = append(args, "--namespace", s.DefaultNamespace)
	}
	var pairs []string
	for k, v := range s.Operator.Labels {
		pairs = append(pairs, k+"="+v)
	}
	slices.Sort(pairs)
	if len(pairs) > 0 {
		args = append(args, "--operator-labels", strings.Join(pairs, ","))
	}
	if s.Operator.AgentSelector != "" {
		args = append(args, "--agent-selector", quote(s.Operator.AgentSelector))
	}
	if s.SDAggregator.URL != scrape.DefaultSDURL {
		args = append(args, "--sd-aggregator-url", quote(s.SDAggregator.URL))
	}
	args = append(args, "-o", "OUT")
	for _, path := range s.Sources[i].Paths {
		args = append(args, quote(path))
	}
	return strings.Join(args, " ")
}

// quote makes a shell word of a text.
func quote(s string) string {
	if s != "" && !strings.ContainsAny(s, " \t\n'\"\\$`!*?[]{}()<>|&;#~=%") {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// referenced reads the trailers by which a commit names the one that caused it, as Argo
// CD's hydrator does; the last of each counts.
func referenced(message string) (hydratorCommit, bool) {
	var c hydratorCommit
	fields := map[string]*string{
		"argocd-reference-commit-sha": &c.SHA, "argocd-reference-commit-repourl": &c.RepoURL, "argocd-reference-commit-author": &c.Author,
		"argocd-reference-commit-date": &c.Date, "argocd-reference-commit-subject": &c.Subject, "argocd-reference-commit-body": &c.Body,
	}
	for _, t := range foreigntext.Trailers(message) {
		if field := fields[strings.ToLower(t.Key)]; field != nil {
			*field = foreigntext.Cut(t.Value, foreigntext.MaxBodyBytes)
		}
	}
	var body string
	if json.Unmarshal([]byte(c.Body), &body) == nil {
		c.Body = body
	}
	return c, c != (hydratorCommit{})
}
