package pipeline

import (
	"fmt"
	"strings"

	"github.com/agentry-dev/agentry/generator/diag"
)

// validateWebhook checks a webhook.
func validateWebhook(path, repository string, w *Webhook) findings {
	var f findings
	if w == nil {
		return f
	}
	f.check(w.SecretFile+w.SecretEnv != "", path, "", "a webhook needs secretFile or secretEnv")
	f.check(scheme(repository) != "file", path, "", "a repository on this machine has no webhooks")
	return f
}

// validateForge checks the API of a repository's forge. Without a token of its own it uses the repository's credential.
func validateForge(path string, forge *Forge, repository Auth) findings {
	var f findings
	if forge.URL == "" {
		f.check(false, path+".url", "write it like https://gitlab.example.com",
			"is required, since the repository's URL names no host")
	} else {
		f.add(validateWebURL(path+".url", forge.URL, "https", "http"))
	}
	f.add(validateTrust(path, forge.URL, forge.CAFile, forge.CAEnv))
	own := forge.TokenFile+forge.TokenEnv != ""
	f.check(own || repository.HasToken(), path, "set tokenFile or tokenEnv",
		"needs an access token, and the repository's auth holds none")
	f.check(own || repository.GitHubApp == nil || forge.Type == ForgeGitHub, path+".type", "set tokenFile or tokenEnv",
		"the tokens of a GitHub App are for github only")
	return f
}

func validatePreviews(path string, s Source) findings {
	var f findings
	p := s.Previews
	if p == nil {
		return f
	}
	f.check(s.Forge != nil, path, "set forge beside it", "needs the forge, whose pull requests it is about")
	f.check(s.Ref.branch() != "", path, "follow a branch by ref.branch",
		"needs a branch, because pull requests go into a branch")
	f.check(*p.Comment || *p.Status, path, "leave it out", "neither writes a comment nor sets a status")
	f.check(p.Interval.Duration >= MinPreviewInterval, path+".interval", "webhooks make it immediate",
		"must be at least %s", MinPreviewInterval)
	return f
}

// validateRollout checks what can be checked without the rest of the fleet.
func validateRollout(path, pipeline string, r Rollout) findings {
	var f findings
	seen := map[string]bool{}
	for i, name := range r.After {
		at := fmt.Sprintf("%s.after[%d]", path, i)
		f.name(at, name, diag.SubdomainName)
		f.check(name != pipeline, at, "", "is this pipeline itself")
		f.check(!seen[name], at, "", "is named twice")
		seen[name] = true
	}
	return f
}

func validateNotify(path string, n Notify) findings {
	var f findings
	f.add(validateWebURL(path+".url", n.URL, "https", "http"))
	f.add(validateTrust(path, n.URL, n.CAFile, n.CAEnv))
	if o := n.Object; o != nil {
		f.name(path+".object.name", o.Name, diag.SubdomainName)
		f.name(path+".object.namespace", o.Namespace, diag.LabelName)
	}
	return f
}

func validateReceiver(path string, r Receiver) findings {
	var f findings
	f.add(validateWebURL(path+".url", r.URL, "https", "http"))
	f.check(!strings.HasSuffix(r.URL, "/hook"), path+".url", "kubectl get receiver shows it as webhookPath",
		"lacks the path of the Receiver's status")
	f.check(r.SecretFile+r.SecretEnv != "", path, "", "a receiver needs secretFile or secretEnv")
	f.add(validateTrust(path, r.URL, r.CAFile, r.CAEnv))
	f.check(r.Timeout.Duration >= MinReceiverTimeout && r.Timeout.Duration <= MaxReceiverTimeout, path+".timeout", "",
		"must be from %s to %s", MinReceiverTimeout, MaxReceiverTimeout)
	return f
}
