// Package tenancy says what the objects of tenants may ask of GrafanaAgents.
//
// [Rules.Check] looks at one hierarchy. A tenant's object is one with [manifest.Object.Tenant]: a file of the tenant
// had a say in it. What is in the tenant's own namespace is the tenant's business. Beyond it, an object may only ask
// for what a rule allows; what it asks for without one is an error of the object. Objects of the platform may ask for
// everything.
//
// That a tenant defines objects in no other namespace is checked before, when files are read.
package tenancy

import (
	"errors"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/agentry-dev/agentry/generator/internal/expand"
)

// Rule allows the objects of some namespaces more.
type Rule struct {
	// Namespaces are those of the tenants, in which `*` stands for any text. Default: all.
	Namespaces []string `json:"namespaces,omitempty"`
	// Agents are the namespaces whose GrafanaAgents may select the objects, besides their own. Default: those that no
	// tenant defines. `*` stands for any text.
	Agents []string `json:"agents,omitempty"`
	// URLs are where the objects may make agents of other namespaces send metrics and logs, such as
	// https://mimir.example.com/*: `*` stands for any text, but does not lead out of the host. Default: none.
	URLs []string `json:"urls,omitempty"`
	// Secrets are the names of the Secrets and ConfigMaps of their namespace that the objects may refer to. `*` stands
	// for any text. Default: all.
	Secrets []string `json:"secrets,omitempty"`
	// Files lets the objects read files of nodes, and of pods of other namespaces. Default: false.
	Files bool `json:"files,omitempty"`
	// ScrapeConfigs lets the objects give agents of other namespaces hand-written configuration:
	// additionalScrapeConfigs, and objects of the kinds ScrapeConfig, Integration and MetricsIntegration. Default:
	// false.
	ScrapeConfigs bool `json:"scrapeConfigs,omitempty"`
}

// Rules are those of a pipeline. The first whose namespaces match counts.
type Rules []Rule

// of returns the rule for a namespace, and its field in the pipeline.
func (r Rules) of(namespace string) (Rule, string) {
	for i, rule := range r {
		if len(rule.Namespaces) == 0 || matches(rule.Namespaces, namespace) {
			return rule, "spec.tenancy.rules[" + strconv.Itoa(i) + "]"
		}
	}
	return Rule{}, "spec.tenancy.rules"
}

// matches reports whether one of the patterns matches a text.
func matches(patterns []string, text string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool { return match(pattern, text, ".*") })
}

// match reports whether a pattern matches a text, if an asterisk stands for what an expression matches.
func match(pattern, text, asterisk string) bool {
	expression := strings.ReplaceAll(regexp.QuoteMeta(pattern), `\*`, asterisk)
	found, err := regexp.MatchString("^(?s:"+expression+")$", text)
	return err == nil && found
}

// CheckURL returns what is wrong with an item of [Rule.URLs]: it must say which host is meant, and that the host's name
// ends there.
func CheckURL(pattern string) error {
	scheme, rest, found := strings.Cut(pattern, "://")
	host, _, hasPath := strings.Cut(rest, "/")
	switch {
	case pattern == "*":
		return nil
	case !found || scheme != "http" && scheme != "https":
		return errors.New("must begin with http:// or https://")
	case host == "" || strings.ContainsAny(host, "@?#\\"):
		return errors.New("must name a host")
	case !hasPath && strings.HasSuffix(host, "*"):
		return errors.New("must have a / behind the host, or it allows other hosts whose names begin like it")
	}
	return nil
}

// allowsURL reports whether the rule allows a URL. The host must match by itself, so that nothing in a path, a user or
// a query can take its place, and a path that leads up matches nothing.
func (r Rule) allowsURL(text string) bool {
	u, err := url.Parse(text)
	if err != nil || expand.Touches(text) || u.Host == "" || u.User != nil || u.Opaque != "" ||
		slices.Contains(strings.Split(u.Path, "/"), "..") {
		return slices.Contains(r.URLs, "*")
	}
	return slices.ContainsFunc(r.URLs, func(pattern string) bool {
		scheme, rest, _ := strings.Cut(pattern, "://")
		host, path, _ := strings.Cut(rest, "/")
		own := strings.TrimPrefix(u.EscapedPath(), "/")
		if u.RawQuery != "" {
			own += "?" + u.RawQuery
		}
		return pattern == "*" || scheme == u.Scheme && match(host, u.Host, "[^/@?#\\\\]*") && match(path, own, ".*")
	})
}
