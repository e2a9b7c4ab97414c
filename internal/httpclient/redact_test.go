package httpclient

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"html"
	"net/url"
	"strings"
	"testing"
)

func TestRedact(t *testing.T) {
	const secret = `hunter2&hunter2/"x` + "é"
	for user := range 4 {
		login := strings.Repeat("u", user) + ":" + secret
		for _, text := range []string{
			secret, url.QueryEscape(secret), url.UserPassword("u", secret).String(), html.EscapeString(secret),
			fmt.Sprintf("%q", secret),
			hex.EncodeToString([]byte(secret)), fmt.Sprintf("%X", secret),
			base64.StdEncoding.EncodeToString([]byte(login)), base64.URLEncoding.EncodeToString([]byte(login + "\n")),
		} {
			got := Redact("denied: "+text+" is wrong", secret, "", "hunter2")
			if !strings.HasPrefix(got, "denied: ") || !strings.HasSuffix(got, " is wrong") ||
				!strings.Contains(got, "***") || len(got) > len("denied:  is wrong")+16 {
				t.Errorf("%s: %s", text, got)
			}
		}
	}
	if got := Redact("nothing", "", "x"); got != "nothing" {
		t.Error(got)
	}
}

// TestNoBitOfASecretIsLeftInBase64: the characters at both ends of a secret hold bits of it and of its neighbours.
func TestNoBitOfASecretIsLeftInBase64(t *testing.T) {
	for n := range 6 {
		secret := strings.Repeat("s3cr3t-", 2) + strings.Repeat("z", n)
		for user := range 4 {
			for _, encoding := range []*base64.Encoding{base64.StdEncoding, base64.RawStdEncoding, base64.URLEncoding} {
				other := strings.Repeat("s3cr3t-", 2) + strings.Repeat("y", n)
				show := func(s string) string {
					return Redact(encoding.EncodeToString([]byte(strings.Repeat("u", user)+":"+s)), s)
				}
				if a, b := show(secret), show(other); a != b || !strings.HasSuffix(a, "***") {
					t.Errorf("%d %d: %s, %s", n, user, a, b)
				}
			}
		}
	}
}

// TestShortSecretsAreWords: a secret of a few letters is part of many words.
func TestShortSecretsAreWords(t *testing.T) {
	for text, want := range map[string]string{
		"lookup git.example.com":           "lookup git.example.com",
		"denied: x":                        "denied: ***",
		"https://u:x@example.com?a=x&b=xx": "https://u:***@example.com?a=***&b=xx",
		"x x_x éx x":                       "*** x_x éx ***",
	} {
		if got := Redact(text, "x"); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	if got := Redact("a12345678b", "12345678"); got != "a***b" {
		t.Error(got)
	}
}
