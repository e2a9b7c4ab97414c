package worker

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"
	"text/template"
	"time"

	"github.com/Masterminds/sprig/v3"
)

// run is one rendering of a release. It answers the functions that would give another result each time, and notes who
// asked the cluster.
type run struct {
	// seed makes the answers of one rendering differ from another's.
	seed string
	now  time.Time
	// entered is told each template that begins.
	entered func(string)
	within  []string
	lookups map[string]bool
}

// Names of the functions that tell which template is being executed. No chart calls them.
const (
	enterFunc = "agentryEnter"
	leaveFunc = "agentryLeave"
)

// wrap makes a template report when it begins and ends. Its lines keep their numbers.
func wrap(name string, text []byte) []byte {
	return slices.Concat(fmt.Appendf(nil, "{{%s %q}}", enterFunc, name), text, []byte("{{"+leaveFunc+"}}"))
}

// functions replace those of Helm that do not give equal answers to equal questions.
func (r *run) functions() template.FuncMap {
	original := sprig.TxtFuncMap()
	out := template.FuncMap{
		enterFunc: func(name string) string {
			r.within = append(r.within, name)
			r.entered(name)
			return ""
		},
		leaveFunc: func() string {
			r.within = r.within[:len(r.within)-1]
			return ""
		},
		// A template that includes another's output, for a checksum, depends on what that one looked up.
		"lookup": func(_, _, _, _ string) map[string]any {
			for _, name := range r.within {
				r.lookups[name] = true
			}
			return map[string]any{}
		},
		// Helm's own take a map's keys in Go's order, which is random.
		"keys":   sortedKeys,
		"values": sortedValues,
	}
	maps.Copy(out, r.random())
	maps.Copy(out, r.times(original))
	return out
}

func (r *run) random() template.FuncMap {
	pair := func(name string) certificate {
		return certificate{Cert: r.pem("CERTIFICATE", name), Key: r.pem("RSA PRIVATE KEY", name)}
	}
	return template.FuncMap{
		"randAlphaNum": r.letters, "randAlpha": r.letters, "randAscii": r.letters, "randNumeric": r.digits,
		"randBytes":     func(n int) string { return r.letters(n) },
		"randInt":       func(low, high int) int { return r.between(low, high) },
		"shuffle":       func(s string) string { return r.shuffled(s) },
		"uuidv4":        func() string { return "00000000-0000-4000-8000-" + r.hex("uuid")[:12] },
		"bcrypt":        func(string) string { return "$2a$10$" + r.letters(53) },
		"htpasswd":      func(user, _ string) string { return user + ":$2a$10$" + r.letters(53) },
		"encryptAES":    func(_, _ string) string { return r.letters(44) },
		"genPrivateKey": func(string) string { return r.pem("RSA PRIVATE KEY", "key") },

		"genCA":                    func(name string, _ ...any) certificate { return pair(name) },
		"genCAWithKey":             func(name string, _ ...any) certificate { return pair(name) },
		"genSelfSignedCert":        func(name string, _ ...any) certificate { return pair(name) },
		"genSelfSignedCertWithKey": func(name string, _ ...any) certificate { return pair(name) },
		"genSignedCert":            func(name string, _ ...any) certificate { return pair(name) },
		"genSignedCertWithKey":     func(name string, _ ...any) certificate { return pair(name) },
	}
}

// times are the functions that read the clock; with a time of day as argument they are Helm's own.
func (r *run) times(original template.FuncMap) template.FuncMap {
	inZone, _ := original["dateInZone"].(func(string, any, string) string)
	html, _ := original["htmlDateInZone"].(func(any, string) string)
	date := func(layout string, at any, zone string) string { return inZone(layout, r.orNow(at), zone) }
	return template.FuncMap{
		"now":            func() time.Time { return r.now },
		"date":           func(layout string, at any) string { return date(layout, at, "UTC") },
		"date_in_zone":   date,
		"dateInZone":     date,
		"htmlDate":       func(at any) string { return html(r.orNow(at), "UTC") },
		"htmlDateInZone": func(at any, zone string) string { return html(r.orNow(at), zone) },
		"ago":            func(any) string { return r.digits(1) + "s" },
	}
}

// orNow returns a value that sprig takes for a time, and the time of the run for any other value.
func (r *run) orNow(at any) any {
	switch at.(type) {
	case time.Time, *time.Time, int64, int, int32:
		return at
	}
	return r.now
}

// certificate has the fields of sprig's.
type certificate struct{ Cert, Key string }

func (r *run) hex(of string) string {
	sum := sha256.Sum256([]byte(r.seed + of))
	return hex.EncodeToString(sum[:])
}

func (r *run) pem(kind, of string) string {
	return "-----BEGIN " + kind + "-----\n" + r.hex(of) + "\n-----END " + kind + "-----\n"
}

// maxRandom bounds the random text that a template asks for: no password has a megabyte.
const maxRandom = 1 << 20

func (r *run) letters(n int) string { return strings.Repeat(r.seed, max(min(n, maxRandom), 0)) }

func (r *run) digits(n int) string {
	return strings.Repeat(fmt.Sprint(r.seed[0]%10), max(min(n, maxRandom), 0))
}

func (r *run) between(low, high int) int {
	if high <= low {
		return low
	}
	return low + int(r.seed[0])%(high-low)
}

func (r *run) shuffled(s string) string {
	letters := []rune(s)
	slices.Sort(letters)
	if r.seed[0]%2 == 0 {
		slices.Reverse(letters)
	}
	return string(letters)
}

func sortedKeys(of ...map[string]any) []string {
	var out []string
	for _, m := range of {
		out = append(out, slices.Sorted(maps.Keys(m))...)
	}
	return out
}

func sortedValues(of map[string]any) []any {
	out := make([]any, 0, len(of))
	for _, k := range slices.Sorted(maps.Keys(of)) {
		out = append(out, of[k])
	}
	return out
}
