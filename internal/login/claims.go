package login

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode"
)

// Person is a logged-in user.
type Person struct {
	Name    string `json:"name"`
	MayRead bool   `json:"mayRead"`
	MayAct  bool   `json:"mayAct"`
}

// claims are the claims of an issuer about a user.
type claims map[string]any

// person returns the user with the given claims, and their rights.
func (l *Login) person(c claims) Person {
	values := append(c.values(l.Claim), Everybody)
	has := func(wanted []string) bool {
		return slices.ContainsFunc(wanted, func(v string) bool { return slices.Contains(values, v) })
	}
	act := has(l.Act)
	return Person{Name: c.name(), MayRead: act || has(l.Read), MayAct: act}
}

// values returns the values of a claim, which is a text or a list of texts. It ignores an unverified email address,
// because anybody can claim it.
func (c claims) values(name string) (out []string) {
	if verified, said := c["email_verified"]; name == "email" && said && fmt.Sprint(verified) != "true" {
		return nil
	}
	switch v := c[name].(type) {
	case string:
		out = append(out, v)
	case []any:
		for _, one := range v {
			if text, ok := one.(string); ok {
				out = append(out, text)
			}
		}
	}
	// An issuer must not be able to give the value that stands for everybody.
	return slices.DeleteFunc(out, func(v string) bool { return v == Everybody })
}

// name returns the display name of a user.
func (c claims) name() string {
	text := func(name string) string { s, _ := c[name].(string); return s }
	return short(cmp.Or(text("preferred_username"), text("email"), text("name"), text("sub")))
}

// short returns the beginning of a foreign text, on one line.
func short(text string) string {
	const most = 200
	text = strings.TrimSpace(strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, text))
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most]) + "..."
	}
	return text
}
