package signature

import (
	"bytes"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"golang.org/x/crypto/ssh"
)

// sshNamespace is the namespace of commit signatures.
const sshNamespace = "git"

// errOtherKey means that a line of allowed_signers is for another key.
var errOtherKey = errors.New("is another key")

// allowedSigner is a line of an allowed_signers file: see ssh-keygen(1).
type allowedSigner struct {
	principals    []string // patterns
	namespaces    []string // patterns; nil: all
	after, before time.Time
	authority     bool // the key signs certificates
	key           ssh.PublicKey
}

// parseAllowedSigners reads an allowed_signers file. An unreadable line is an error, because it may limit how long a
// key is valid.
func parseAllowedSigners(data []byte) ([]allowedSigner, error) {
	var out []allowedSigner
	n := 0
	for line := range strings.Lines(string(data)) {
		n++
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		s, err := parseAllowedSigner(line)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		out = append(out, s)
	}
	return out, nil
}

func parseAllowedSigner(line string) (allowedSigner, error) {
	var s allowedSigner
	principals, rest, err := cutPrincipals(line)
	if err != nil {
		return s, err
	}
	s.principals = strings.Split(principals, ",")
	// The rest has the form of a line of authorized_keys: options, key, comment.
	key, _, options, more, err := ssh.ParseAuthorizedKey([]byte(rest))
	if err != nil || len(bytes.TrimSpace(more)) > 0 {
		return s, errors.New("there is no key after the principals")
	}
	s.key = key
	seen := map[string]bool{}
	for _, option := range options {
		if err := s.option(option, seen); err != nil {
			return s, err
		}
	}
	if !s.after.IsZero() && !s.before.IsZero() && !s.before.After(s.after) {
		return s, errors.New("valid-before is not after valid-after")
	}
	return s, nil
}

// cutPrincipals returns the first field, which may be quoted, and the rest.
func cutPrincipals(line string) (principals, rest string, err error) {
	if quoted, ok := strings.CutPrefix(line, `"`); ok {
		principals, rest, ok = strings.Cut(quoted, `"`)
		if !ok {
			return "", "", errors.New("a quote is not closed")
		}
	} else if i := strings.IndexAny(line, " \t"); i >= 0 {
		principals, rest = line[:i], line[i:]
	}
	rest = strings.TrimSpace(rest)
	if principals == "" || rest == "" {
		return "", "", errors.New("a line needs principals and a key")
	}
	return principals, rest, nil
}

func (s *allowedSigner) option(text string, seen map[string]bool) error {
	name, value, _ := strings.Cut(text, "=")
	name, value = strings.ToLower(name), strings.Trim(value, `"`)
	if seen[name] {
		return fmt.Errorf("option %s is given twice", name)
	}
	seen[name] = true
	var err error
	switch name {
	case "cert-authority":
		s.authority = true
	case "namespaces":
		s.namespaces = strings.Split(value, ",")
	case "valid-after":
		s.after, err = parseSSHTime(value)
	case "valid-before":
		s.before, err = parseSSHTime(value)
	default:
		err = fmt.Errorf("unknown option %s", name)
	}
	return err
}

// parseSSHTime reads YYYYMMDD[HHMM[SS]][Z], always as UTC. ssh-keygen uses the machine's time zone, with which
// replicas could disagree.
func parseSSHTime(text string) (time.Time, error) {
	digits := strings.TrimSuffix(text, "Z")
	for _, layout := range []string{"20060102", "200601021504", "20060102150405"} {
		if len(digits) == len(layout) {
			if t, err := time.Parse(layout, digits); err == nil {
				return t, nil
			}
		}
	}
	return time.Time{}, fmt.Errorf("%q is not a time: use YYYYMMDD, YYYYMMDDHHMM or YYYYMMDDHHMMSS", text)
}

// allows checks that a line lets a key sign commits at a date. It returns errOtherKey if the line is for another key.
func (s *allowedSigner) allows(key ssh.PublicKey, date time.Time) error {
	cert, isCert := key.(*ssh.Certificate)
	switch {
	case s.authority && isCert && bytes.Equal(cert.SignatureKey.Marshal(), s.key.Marshal()):
		if err := s.allowsCertificate(cert, date); err != nil {
			return err
		}
	case s.authority || !bytes.Equal(key.Marshal(), s.key.Marshal()):
		return errOtherKey
	}
	switch {
	case s.namespaces != nil && !matchPatterns(s.namespaces, sshNamespace):
		return fmt.Errorf("is not allowed for the namespace %s", sshNamespace)
	case !s.after.IsZero() && date.Before(s.after):
		return fmt.Errorf("is valid from %s, after the commit's date %s", s.after.Format(time.RFC3339),
			date.UTC().Format(time.RFC3339))
	case !s.before.IsZero() && date.After(s.before):
		return fmt.Errorf("is valid until %s, before the commit's date %s", s.before.Format(time.RFC3339),
			date.UTC().Format(time.RFC3339))
	}
	return nil
}

// allowsCertificate checks a certificate that the line's key issued.
func (s *allowedSigner) allowsCertificate(cert *ssh.Certificate, date time.Time) error {
	if cert.CertType != ssh.UserCert {
		return errors.New("has a certificate that is not a user certificate")
	}
	checker := ssh.CertChecker{Clock: func() time.Time { return date }}
	for name := range cert.CriticalOptions {
		checker.SupportedCriticalOptions = append(checker.SupportedCriticalOptions, name) // they only concern logins
	}
	i := slices.IndexFunc(cert.ValidPrincipals, func(p string) bool { return matchPatterns(s.principals, p) })
	if i < 0 {
		return errors.New("has a certificate for none of the principals")
	}
	if err := checker.CheckCert(cert.ValidPrincipals[i], cert); err != nil {
		return fmt.Errorf("has a bad certificate: %w", err)
	}
	return nil
}

// matchPatterns reports whether an OpenSSH pattern list matches: one pattern must match, and no negated one.
func matchPatterns(patterns []string, text string) bool {
	found := false
	for _, pattern := range patterns {
		pattern, negated := strings.CutPrefix(pattern, "!")
		if !matchPattern(pattern, text) {
			continue
		}
		if negated {
			return false
		}
		found = true
	}
	return found
}

// matchPattern reports whether a pattern with * and ? matches.
func matchPattern(pattern, text string) bool {
	// Escape the other special characters of path.Match. A slash matches like any other byte.
	pattern = strings.NewReplacer(`\`, `\\`, "[", `\[`, "/", "\x00").Replace(pattern)
	ok, err := path.Match(pattern, strings.ReplaceAll(text, "/", "\x00"))
	return ok && err == nil
}
