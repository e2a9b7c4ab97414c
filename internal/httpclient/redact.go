package httpclient

import (
	"cmp"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"html"
	"net/url"
	"slices"
	"strings"
)

// Redact replaces secrets in a server's text, in the spellings of headers, URLs, JSON and HTML too. A server can repeat
// the request's Authorization header, in which a password stands behind the user in base64.
func Redact(text string, secrets ...string) string {
	var forms []string
	for _, secret := range secrets {
		if secret != "" {
			forms = append(forms, spellings(secret)...)
		}
	}
	// If one contains another, replacing the shorter one first would leave the rest.
	slices.SortFunc(forms, func(a, b string) int { return cmp.Compare(len(b), len(a)) })
	for _, form := range forms {
		text = strings.ReplaceAll(text, form, "***")
	}
	return text
}

// spellings returns the ways in which a text can be written.
func spellings(secret string) []string {
	quoted, _ := json.Marshal(secret) // a string
	inHex := hex.EncodeToString([]byte(secret))
	out := []string{
		secret, url.QueryEscape(secret), url.PathEscape(secret), strings.Trim(string(quoted), `"`), html.EscapeString(secret), inHex, strings.ToUpper(inHex),
	}
	// In base64 a text has one of three forms, by the number of bytes before it. The characters at both ends also depend
	// on the neighbouring bytes.
	for before := range 3 {
		for _, encoding := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
			encoded := encoding.EncodeToString([]byte(strings.Repeat("x", before) + secret))
			begin, end := (before*8+5)/6, (before+len(secret))*8/6
			const short = 6 // would match anything
			if end-begin >= short {
				out = append(out, encoded[begin:end])
			}
		}
	}
	return out
}
