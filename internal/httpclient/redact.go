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

// shortBytes is the length below which a secret is replaced only where it is a word of its own: otherwise one of a
// single letter would make a text unreadable, and show by that where the letter is.
const shortBytes = 8

// Redact replaces secrets in a server's text, in the spellings of headers, URLs, JSON and HTML too. A server can repeat
// the request's Authorization header, in which a password stands behind the user in base64.
func Redact(text string, secrets ...string) string {
	var forms []spelling
	for _, secret := range secrets {
		if secret != "" {
			forms = append(forms, spellings(secret)...)
		}
	}
	// If one contains another, replacing the shorter one first would leave the rest.
	slices.SortStableFunc(forms, func(a, b spelling) int { return cmp.Compare(len(b.text), len(a.text)) })
	for _, form := range forms {
		text = form.redact(text)
	}
	return text
}

// spelling is a way in which a secret can be written.
type spelling struct {
	text string
	// isWord means that it counts only between characters that are no letters or digits.
	isWord bool
	// before and after mean that the next character at this end has bits of the secret too, in base64.
	before, after bool
}

// redact replaces the spelling in a text.
func (s spelling) redact(text string) string {
	var out strings.Builder
	for from := 0; ; {
		at := strings.Index(text[from:], s.text)
		if at < 0 {
			out.WriteString(text[from:])
			return out.String()
		}
		begin := from + at
		end := begin + len(s.text)
		if s.isWord && (begin > 0 && isLetter(text[begin-1]) || end < len(text) && isLetter(text[end])) {
			out.WriteString(text[from : begin+1])
			from = begin + 1
			continue
		}
		if s.before && begin > from && isBase64(text[begin-1]) {
			begin--
		}
		if s.after && end < len(text) && isBase64(text[end]) {
			end++
			for end < len(text) && text[end] == '=' {
				end++
			}
		}
		out.WriteString(text[from:begin] + "***")
		from = end
	}
}

func isLetter(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c >= 0x80
}

func isBase64(c byte) bool { return c < 0x80 && isLetter(c) || c == '+' || c == '/' || c == '-' }

// spellings returns the ways in which a text can be written.
func spellings(secret string) (out []spelling) {
	quoted, _ := json.Marshal(secret) // a string
	inHex := hex.EncodeToString([]byte(secret))
	for _, text := range []string{
		secret, url.QueryEscape(secret), url.PathEscape(secret), strings.Trim(string(quoted), `"`),
		html.EscapeString(secret), inHex, strings.ToUpper(inHex),
	} {
		if text != "" {
			out = append(out, spelling{text: text, isWord: len(secret) < shortBytes})
		}
	}
	// In base64 a text has one of three forms, by the number of bytes before it. The characters at both ends also
	// depend on the neighbouring bytes.
	for offset := range 3 {
		for _, encoding := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
			encoded := encoding.EncodeToString([]byte(strings.Repeat("x", offset) + secret))
			begin, end := (offset*8+5)/6, (offset+len(secret))*8/6
			const short = 6 // would match anything
			if end-begin >= short {
				out = append(out, spelling{text: encoded[begin:end], before: offset > 0,
					after: (offset+len(secret))%3 > 0})
			}
		}
	}
	return out
}
