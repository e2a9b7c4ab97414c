// Package credential finds credentials in plain text: passwords in URLs and data source names, and texts that contain
// more than references to environment variables. It alone decides by their names which values are secret: the printers
// of all runtimes, the review texts and the readers of output branches ask it, so that no page shows what another one
// hides.
package credential

import (
	"errors"
	"net/url"
	"strings"

	"github.com/agentry-dev/agentry/internal/lazyregexp"
)

var (
	// variable matches a reference without text of its own: ${NAME}, $(NAME), and ${NAME:-} without a default.
	variable = lazyregexp.New(`\$\{#?\w+(?::?[-=+?])?\}|\$\(\w+\)`)
	// setting matches a credential in the parameters of a URL or of a data source name.
	setting = lazyregexp.New(
		`(?i)(?:(?:password|passwd|pwd|secret|token|api_?key)\s*=|session_token:)\s*\$?[^\s;&,$]`)
	// name matches the names of headers, parameters, variables and flags that contain a credential.
	name = lazyregexp.New(
		`(?i)(?:password|passwd|passphrase|pwd|token|secret|credentials?|cookie|authorization|assertion|(?:api|access|private|secret|auth|signing)[-_.]?key)$`)
	// client matches the fields of HTTP clients and service discoveries that contain a credential as plain text. It is
	// for hand-written texts without known types.
	client = lazyregexp.New(
		`^(?:.*_)?(?:password|passphrase|token|credentials|secret|secret_key|private_key|key|key_pem|consumer_key|connection_string)$`)
	// group matches a reference to a group of a regular expression.
	group = lazyregexp.New(`\$(?:\{\w+\}|\w+)`)
	// harmless matches common values of such names that are not credentials: switches and files.
	harmless = lazyregexp.New(`(?i)^(?:true|false|yes|no|on|off|none|null|[0-9]|/[^\s]*/[^\s]*)$`)
	// before matches the prefix of a reference to a variable, including its dollar: an authentication scheme or a
	// cookie's name.
	before       = lazyregexp.New(`(?i)^(?:bearer|basic|token|api-?key) +\$`)
	beforeCookie = lazyregexp.New(`(?:^|; *)[\w.-]+=\$`)
	// port matches the text after the colon of a host.
	port   = lazyregexp.New(`^[0-9$]+[/?]`)
	scheme = lazyregexp.New(`^\s*[A-Za-z][A-Za-z0-9+.-]*$`)
)

// withoutVariables replaces each reference to a variable by a dollar.
func withoutVariables(text string) string {
	if !strings.Contains(text, "$") {
		return text // most texts; the regular expression would copy them
	}
	return variable.ReplaceAllLiteralString(text, "$")
}

// Written reports whether a credential has text besides references to variables.
func Written(text string) bool { return strings.Trim(withoutVariables(text), "$ ") != "" }

// InField reports whether the value of a header, parameter, variable or flag is a credential, judging by its name. The
// authentication scheme in a header and the name of a cookie are not credentials.
func InField(field, value string) bool {
	if !name.MatchString(field) || harmless.MatchString(value) {
		return false
	}
	value = before.ReplaceAllLiteralString(value, "$")
	if strings.EqualFold(field, "cookie") {
		value = beforeCookie.ReplaceAllLiteralString(value, "$")
	}
	return Written(value)
}

// InClient reports whether a field of a hand-written HTTP client or service discovery contains a credential. The id of
// a key is not one.
func InClient(field string) bool { return field != "access_key" && client.MatchString(field) }

// InRule reports whether a relabelling rule writes a credential into a parameter of requests: its replacement has text
// of its own, and the name of its target label says so.
func InRule(targetLabel, replacement string) bool {
	parameter, found := strings.CutPrefix(targetLabel, "__param_")
	return found && InField(parameter, group.ReplaceAllLiteralString(replacement, "$"))
}

// InArgument reports whether an argument of a command sets a flag to a credential, as in --password=... .
func InArgument(argument string) bool {
	flag, value, found := strings.Cut(argument, "=")
	return found && strings.HasPrefix(flag, "-") && InField(flag, value)
}

// InURL reports whether a URL contains a credential. It returns false for a text that is not a URL.
func InURL(text string) bool {
	text = withoutVariables(text)
	before, rest, found := strings.Cut(text, "://")
	if !found || !scheme.MatchString(before) {
		return false
	}
	if setting.MatchString(text) {
		return true
	}
	if !strings.HasPrefix(strings.ToLower(before), "http") {
		return hasPassword(rest)
	}
	authority, _, _ := strings.Cut(strings.NewReplacer("?", "/", "#", "/").Replace(rest), "/")
	if user, _, found := strings.Cut(authority, "@"); found {
		_, password, found := strings.Cut(user, ":")
		if !found {
			password = user // it is a token
		}
		return strings.Trim(password, "$") != ""
	}
	return strings.Contains(authority, ":") && hasPassword(rest) // the slash is part of the password
}

// InSource reports whether a data source name contains a password: as user:password@host or as a setting.
func InSource(text string) bool {
	text = withoutVariables(text)
	if _, rest, found := strings.Cut(text, "://"); found {
		return hasPassword(rest) || setting.MatchString(text)
	}
	return hasPassword(text) || setting.MatchString(text)
}

// hasPassword reports whether a text begins with user:password@. Users and passwords can contain slashes, but an
// address before a path with an at sign is neither.
func hasPassword(text string) bool {
	user, rest, _ := strings.Cut(text, ":")
	password, _, found := strings.Cut(rest, "@")
	return found && !strings.ContainsAny(user, "@([") && !port.MatchString(password) &&
		strings.Trim(password, "$") != ""
}

// Redacted returns a text without the credentials that [InURL] finds.
func Redacted(text string) string {
	const placeholder = "<redacted>"
	before, rest, _ := strings.Cut(text, "://")
	if !InURL(text) {
		return text
	}
	if at := strings.LastIndexByte(rest, '@'); at >= 0 {
		text = before + "://" + placeholder + rest[at:]
	}
	if setting.MatchString(withoutVariables(text)) {
		return placeholder
	}
	return text
}

// quoted matches a quoted text in an error, and the space after it.
var quoted = lazyregexp.New(`"(?:[^"\\]|\\.)*" ?`)

// URLProblem returns, after a colon, why a text is not a URL. It quotes no part of a text that may contain a password.
func URLProblem(text string, err error) string {
	problem := err.Error()
	if e := (*url.Error)(nil); errors.As(err, &e) {
		problem = e.Err.Error()
	}
	if strings.Contains(text, "@") {
		problem = strings.TrimSpace(quoted.ReplaceAllString(problem, ""))
	}
	return ": " + problem
}
