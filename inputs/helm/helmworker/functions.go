package helmworker

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

// run is one rendering of a release. It replaces the functions with varying results, and records calls of lookup.
type run struct {
	// seed makes the random values of two runs differ.
	seed string
	now  time.Time
	// entered is called with each template that begins.
	entered func(string)
	within  []string        // stack of the templates that are being executed
	lookups map[string]bool // templates that called lookup
}

// The names of the functions that report which template is being executed. No chart calls them.
const (
	enterFunc = "agentryEnter"
	leaveFunc = "agentryLeave"
)

// wrap makes a template report when it begins and ends, and keeps its line numbers.
func wrap(name string, text []byte) []byte {
	return slices.Concat(fmt.Appendf(nil, "{{%s %q}}", enterFunc, name), text, []byte("{{"+leaveFunc+"}}"))
}

// functions returns replacements of Helm's functions whose results vary or depend on a cluster.
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
		// A template that includes another one, for a checksum, depends on its lookups too.
		"lookup": func(_, _, _, _ string) map[string]any {
			for _, name := range r.within {
				r.lookups[name] = true
			}
			return map[string]any{}
		},
		// Helm's own return a map's keys in Go's random order.
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
		"randInt":       func(low, high int) int { return r.intBetween(low, high) },
		"shuffle":       func(s string) string { return r.shuffle(s) },
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

// times returns the functions that read the clock. With a time as argument they work like Helm's own.
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

// orNow returns at if sprig accepts it as a time, else the time of the run.
func (r *run) orNow(at any) any {
	switch at.(type) {
	case time.Time, *time.Time, int64, int, int32:
		return at
	}
	return r.now
}

// certificate has the fields of sprig's certificate.
type certificate struct{ Cert, Key string }

func (r *run) hex(of string) string {
	sum := sha256.Sum256([]byte(r.seed + of))
	return hex.EncodeToString(sum[:])
}

func (r *run) pem(kind, of string) string {
	return "-----BEGIN " + kind + "-----\n" + r.hex(of) + "\n-----END " + kind + "-----\n"
}

// maxRandom limits the length of a random text.
const maxRandom = 1 << 20

func (r *run) letters(n int) string { return strings.Repeat(r.seed, max(min(n, maxRandom), 0)) }

func (r *run) digits(n int) string {
	return strings.Repeat(fmt.Sprint(r.seed[0]%10), max(min(n, maxRandom), 0))
}

func (r *run) intBetween(low, high int) int {
	if high <= low {
		return low
	}
	return low + int(r.seed[0])%(high-low)
}

func (r *run) shuffle(s string) string {
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
