package scrape

import (
	"fmt"
	"net/url"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/internal/credential"
	"github.com/agentry-dev/agentry/generator/internal/yamltext"
)

// findings collects diagnostics about a monitor.
type findings struct{ diag.List }

// checkURL reports a URL that the agent cannot parse.
func (f *findings) checkURL(path, value string) {
	if value != "" {
		f.parseURL(path, value)
	}
}

// checkHTTPURL reports a URL that HTTP requests cannot be sent to.
func (f *findings) checkHTTPURL(path, value string) {
	if u := f.parseURL(path, value); u != nil && (u.Hostname() == "" || u.Scheme != "http" && u.Scheme != "https") {
		f.Add(diag.InvalidURL.At(path, "must be a URL that begins with http:// or https://"))
	}
}

func (f *findings) parseURL(path, value string) *url.URL {
	u, err := url.Parse(value)
	if err != nil {
		f.Add(diag.InvalidURL.At(path, "is not a URL%s", credential.URLProblem(value, err)))
	} else if yamltext.ReadsAsNull(value) {
		f.Add(diag.InvalidURL.At(path, "the agent takes %q for no value", value))
	}
	return u
}

// LiteralRefused explains why the policy reference refuses a value, after "is a secret" or the like.
const LiteralRefused = "in clear, which the secrets policy reference keeps out of the output"

// Hints about credentials in URLs.
const (
	LeaveOutHint = "leave the user and the password out of the URL"
	AuthHint     = LeaveOutHint + ", and refer to a Secret in basicAuth"
	ProxyHint    = "the agent reads no credential of a proxy from a file: use a proxy that asks for none, or the " +
		"policy plaintext"
)

// literalURL refuses a URL that contains a credential, if the policy does.
func (a access) literalURL(path, value, hint string) {
	if !a.secrets.LiteralsAllowed() && credential.InURL(value) {
		a.found.Add(diag.LiteralToken.At(path, "%s", "contains a credential "+LiteralRefused).WithHint(hint))
	}
}

// checkMetricsPath warns about a query in the path of a job: Prometheus escapes the question mark, and the server looks
// for a page with that name.
func (f *findings) checkMetricsPath(path, value string) {
	if strings.Contains(value, "?") {
		f.Add(diag.InvalidURL.At(path, "has a query, which is sent as a part of the path: the target answers that "+
			"there is no such page").As(diag.Warning).WithHint("write what follows the ? to params"))
	}
}

// checkPortName returns a warning about a name that no port can have, if it is one: Kubernetes allows ports of Services
// the labels of RFC 1123, and ports of containers the names of RFC 6335, with at most 15 characters and a letter.
func checkPortName(name string, container bool) (d diag.Diagnostic, bad bool) {
	const digits, letters = "0123456789", "abcdefghijklmnopqrstuvwxyz-"
	of, most := "a Service", validation.DNS1123LabelMaxLength
	if container {
		of, most = "a container", 15
	}
	switch {
	case len(name) > most:
		d.Message = fmt.Sprintf("finds no targets: a port of %s has a name of at most %d characters, and %q has %d",
			of,
			most, name, len(name))
	case strings.Trim(name, digits) == "" && !container:
		d.Message = fmt.Sprintf("finds only a port with the name %q, not the port with this number", name)
		d.Hint = "write targetPort: " + name + ", without quotes, in place of port"
	case strings.Trim(name, digits) == "":
		d.Message = fmt.Sprintf("finds no targets: %q is the name of a port here, and names have a letter", name)
		d.Hint = "write targetPort: " + name + ", without quotes"
	case strings.Trim(name, letters+digits) != "":
		d.Message = fmt.Sprintf(
			"finds no targets: the name of a port of %s has lower-case letters, digits and dashes only, unlike %q", of,
			name)
		d.Hint = "did you mean " + strings.ReplaceAll(strings.ToLower(name), "_", "-") + "?"
	default:
		return d, false
	}
	d.Severity, d.Code = diag.Warning, diag.InvalidSelector
	return d, true
}
