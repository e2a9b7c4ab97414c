package pipeline

import (
	"fmt"
	"strings"

	"github.com/agentry-dev/agentry/internal/lazyregexp"
)

// maxOCITag is the length of a tag. A repetition of that size in the expression would cost each start of agentry.
const maxOCITag = 128

var (
	ociURLForm = lazyregexp.New(`^oci://[a-zA-Z0-9.-]+(:[0-9]+)?(/[a-z0-9]+(([._]|__|-+)[a-z0-9]+)*)+$`)
	ociTagForm = lazyregexp.New(`^[A-Za-z0-9_][A-Za-z0-9_.-]*$`)
)

// validateVerify checks where the keys that verify input commits are.
func validateVerify(path string, a *Verify) findings {
	var f findings
	if a == nil {
		return f
	}
	f.check(a.AllowedSignersFile+a.AllowedSignersEnv+a.PGPKeysFile+a.PGPKeysEnv != "", path,
		"set allowedSignersFile or pgpKeysFile; leave out verify to accept any commit",
		"names no keys, so it would accept no commit")
	return f
}

// validateDelivery checks the settings of the output that are not about its push.
func validateDelivery(path string, s *Spec) findings {
	var f findings
	o := s.Output
	f.add(validatePromotion(path, s))
	if o.Webhook != nil && !o.isInherited(s.Sources, func(source Source) bool {
		return source.Webhook != nil && *source.Webhook == *o.Webhook
	}) {
		f.add(validateWebhook(path+".webhook", o.URL, o.Webhook))
	}
	f.add(validateOCI(path+".oci", o.OCI))
	for i, r := range o.Receivers {
		f.add(validateReceiver(fmt.Sprintf("%s.receivers[%d]", path, i), r))
	}
	return f
}

// isInherited reports whether a source of the same repository has the same setting. It is checked there.
func (o Output) isInherited(sources []Source, same func(Source) bool) bool {
	for _, s := range sources {
		if SameRepository(s.URL, o.URL) && same(s) {
			return true
		}
	}
	return false
}

func validatePromotion(path string, s *Spec) findings {
	var f findings
	o, p, at := s.Output, s.Output.Promotion, path+".promotion"
	if p.Mode != PromotePullRequest {
		f.check(len(p.Labels) == 0, at+".labels", "set mode: pullRequest", "is for pull requests that agentry opens")
		f.check(p.Title == "", at+".title", "set mode: pullRequest", "is for pull requests that agentry opens")
		f.check(o.Forge == nil, path+".forge", "set promotion.mode: pullRequest, or leave it out",
			"is for pull requests that agentry opens")
		return f
	}
	for i, label := range p.Labels {
		f.check(strings.TrimSpace(label) != "" && !strings.ContainsAny(label, ",\n"),
			fmt.Sprintf("%s.labels[%d]", at, i), "", "must not be empty or hold a comma or a line break")
	}
	if p.Title != "" {
		title, err := FormatMessage(p.Title, sampleMessage(len(s.Sources)))
		f.check(err == nil, at+".title", "", "%v", err)
		f.check(!strings.Contains(strings.TrimSpace(title), "\n"), at+".title", "", "must be one line")
	}
	if o.Forge == nil {
		f.check(false, at+".mode", "set output.forge", "pullRequest needs the forge of the output's repository")
		return f
	}
	f.add(validateForge(path+".forge", o.Forge, s.OutputAuth()))
	return f
}

// OutputAuth returns the credential that the output is written with: its own, or the first source's.
func (s *Spec) OutputAuth() Auth {
	if s.InheritsAuth() {
		return s.Sources[0].Auth
	}
	return s.Output.Auth
}

func validateOCI(path string, o *OCI) findings {
	var f findings
	if o == nil {
		return f
	}
	f.check(ociURLForm.MatchString(o.URL), path+".url", "write it like oci://registry.example.com/clusters/prod",
		"must be a repository of a registry, without a tag")
	f.check(len(o.Tag) <= maxOCITag && ociTagForm.MatchString(o.Tag), path+".tag", "",
		"must be up to 128 letters, digits, dots, dashes and underscores, and must not start with a dot or a dash")
	f.check((o.UsernameFile+o.UsernameEnv == "") == (o.PasswordFile+o.PasswordEnv == ""), path, "",
		"a user name needs a password, and a password a user name")
	f.check(!o.Insecure || o.CAFile+o.CAEnv == "", path, "leave out one of them",
		"insecure connects without TLS, so CA certificates have no effect")
	return f
}
