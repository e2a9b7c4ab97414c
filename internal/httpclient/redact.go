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

// shortBytes is the length below which a secret is only replaced where it is a separate word. Otherwise a
// single-letter secret would make a text unreadable, and thereby reveal the letter.
const shortBytes = 8

// Redact replaces secrets in a server's text, including their spellings in headers, URLs, JSON and HTML. A server can
// echo the Authorization header, which contains user and password in base64.
func Redact(text string, secrets ...string) string {
	var forms []spelling
	for _, secret := range secrets {
		if secret != "" {
			forms = append(forms, spellings(secret)...)
		}
	}
	// Replace longer spellings first: replacing a part of one would leave the rest.
	slices.SortStableFunc(forms, func(a, b spelling) int { return cmp.Compare(len(b.text), len(a.text)) })
	for _, form := range forms {
		text = form.redact(text)
	}
	return text
}

// spelling is a way to write a secret.
type spelling struct {
	text string
	// isWord means that it matches only as a separate word.
	isWord bool
	// before and after mean that the adjacent base64 character at this end also contains bits of the secret.
	before, after bool
}

// redact replaces all occurrences of the spelling.
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

// spellings returns the ways to write a secret.
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
	// In base64, a text has three forms, depending on its offset. The characters at both ends also depend on the
	// neighbouring bytes.
	for offset := range 3 {
		for _, encoding := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
			encoded := encoding.EncodeToString([]byte(strings.Repeat("x", offset) + secret))
			begin, end := (offset*8+5)/6, (offset+len(secret))*8/6
			const short = 6 // shorter texts would match anything
			if end-begin >= short {
				out = append(out, spelling{text: encoded[begin:end], before: offset > 0,
					after: (offset+len(secret))%3 > 0})
			}
		}
	}
	return out
}
