package login

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode"
)

// Person is somebody who is logged in.
type Person struct {
	Name    string `json:"name"`
	MayRead bool   `json:"mayRead"`
	MayAct  bool   `json:"mayAct"`
}

// claims are what an issuer says about somebody.
type claims map[string]any

// person says who somebody is, and what they may do.
func (l *Login) person(c claims) Person {
	values := append(c.values(l.Claim), Everybody)
	has := func(wanted []string) bool {
		return slices.ContainsFunc(wanted, func(v string) bool { return slices.Contains(values, v) })
	}
	act := has(l.Act)
	return Person{Name: c.name(), MayRead: act || has(l.Read), MayAct: act}
}

// values are the texts of a claim: it is one, or a list. An address that the issuer has not verified does not count,
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
	// The value that everybody has is not one that an issuer can give.
	return slices.DeleteFunc(out, func(v string) bool { return v == Everybody })
}

// name is how people call somebody.
func (c claims) name() string {
	text := func(name string) string { s, _ := c[name].(string); return s }
	return short(cmp.Or(text("preferred_username"), text("email"), text("name"), text("sub")))
}

// short returns the first part of a text of others, on one line.
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
