// Package tenancy decides what the objects of tenants may ask GrafanaAgents to do.
//
// [Rules.Check] checks one hierarchy. An object belongs to a tenant if [manifest.Object.Tenant] is set: a file of the
// tenant contributed to it. Tenants are free within their own namespace. Beyond it, an object may ask only for what a
// rule allows; anything else is an error of the object. Objects of the platform may ask for everything.
//
// That tenants define objects only in their own namespaces is checked earlier, when files are read.
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

// Rule grants additional rights to the objects of some namespaces.
type Rule struct {
	// Namespaces are the tenants' namespaces; `*` stands for any text. Default: all.
	Namespaces []string `json:"namespaces,omitempty"`
	// Agents are namespaces with GrafanaAgents that may select the objects, besides their own namespace; `*` stands
	// for any text. Default: all namespaces that no tenant defines.
	Agents []string `json:"agents,omitempty"`
	// URLs are addresses to which the objects may make agents of other namespaces send metrics and logs, such as
	// `https://mimir.example.com/*`; `*` stands for any text, but does not lead out of the host. Default: none.
	URLs []string `json:"urls,omitempty"`
	// Secrets are the names of the Secrets and ConfigMaps in their namespace that the objects may refer to; `*` stands
	// for any text. Default: all.
	Secrets []string `json:"secrets,omitempty"`
	// Files lets the objects read files of nodes, and of pods of other namespaces. Default: false.
	Files bool `json:"files,omitempty"`
	// ScrapeConfigs lets the objects give agents of other namespaces hand-written configuration:
	// additionalScrapeConfigs, and objects of the kinds ScrapeConfig, Integration and MetricsIntegration. Default:
	// false.
	ScrapeConfigs bool `json:"scrapeConfigs,omitempty"`
}

// Rules are the tenancy rules of a pipeline. The first rule with a matching namespace applies.
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

// match reports whether a text matches a pattern in which each asterisk stands for a regular expression.
func match(pattern, text, asterisk string) bool {
	expression := strings.ReplaceAll(regexp.QuoteMeta(pattern), `\*`, asterisk)
	found, err := regexp.MatchString("^(?s:"+expression+")$", text)
	return err == nil && found
}

// CheckURL returns an error if an item of [Rule.URLs] does not name a host, or does not show where the host's name
// ends.
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
		return errors.New("must have a / after the host, otherwise it also allows longer host names")
	}
	return nil
}

// allowsURL reports whether the rule allows a URL. The host must match by itself, so that no part of a path, user or
// query can take its place, and a path with .. matches nothing.
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
