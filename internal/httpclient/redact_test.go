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
			secret, url.QueryEscape(secret), url.UserPassword("u", secret).String(), html.EscapeString(secret), fmt.Sprintf("%q", secret),
			hex.EncodeToString([]byte(secret)), fmt.Sprintf("%X", secret),
			base64.StdEncoding.EncodeToString([]byte(login)), base64.URLEncoding.EncodeToString([]byte(login + "\n")),
		} {
			got := Redact("denied: "+text+" is wrong", secret, "", "hunter2")
			if !strings.HasPrefix(got, "denied: ") || !strings.HasSuffix(got, " is wrong") || !strings.Contains(got, "***") || len(got) > len("denied:  is wrong")+16 {
				t.Errorf("%s: %s", text, got)
			}
		}
	}
	if got := Redact("nothing", "", "x"); got != "nothing" {
		t.Error(got)
	}
}
