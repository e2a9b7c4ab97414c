package yamlvalue

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v2"
)

// Encode returns a mapping of the values that [Decode] returns as YAML. The bytes are those of go.yaml.in/yaml/v2,
// which sigs.k8s.io/yaml uses. Manifests are nearly all short plain texts, which are printed much faster here. A
// mapping in which anything needs more than quotes is left to the library.
func Encode(fields map[string]any) ([]byte, error) {
	p := printer{}
	if p.mapping(fields, 0); p.isHard {
		return yaml.Marshal(fields)
	}
	return p.out, nil
}

// printer prints the block style.
type printer struct {
	out    []byte
	line   int  // where the line begins
	isHard bool // something is left to the library
}

const (
	// maxColumn is the column, in bytes, behind which the library may break a line at a space.
	maxColumn = 80
	// longKey is the length, in bytes, up to which the library writes every key in front of a colon.
	longKey = 100
)

// mapping prints a mapping whose lines are indented, except for the first if something stands before it.
func (p *printer) mapping(fields map[string]any, indent int) {
	if len(fields) == 0 {
		p.add("{}").end()
		return
	}
	for i, key := range slices.SortedFunc(maps.Keys(fields), p.compareKeys) {
		if i > 0 {
			p.indent(indent)
		}
		if len(key) > longKey {
			p.isHard = true
		}
		p.text(key)
		p.add(":")
		switch value := fields[key].(type) {
		case map[string]any:
			if len(value) > 0 {
				p.end()
				p.indent(indent + 2)
			} else {
				p.add(" ")
			}
			p.mapping(value, indent+2)
		case []any:
			if len(value) > 0 {
				p.end()
				p.indent(indent) // the dashes of a list stand below its key
			} else {
				p.add(" ")
			}
			p.list(value, indent)
		default:
			p.add(" ")
			p.scalar(value)
		}
		if p.isHard {
			return
		}
	}
}

func (p *printer) list(values []any, indent int) {
	if len(values) == 0 {
		p.add("[]").end()
		return
	}
	for i, value := range values {
		if i > 0 {
			p.indent(indent)
		}
		p.add("- ")
		switch value := value.(type) {
		case map[string]any:
			p.mapping(value, indent+2)
		case []any:
			p.isHard = true
		default:
			p.scalar(value)
		}
		if p.isHard {
			return
		}
	}
}

func (p *printer) scalar(value any) {
	switch value := value.(type) {
	case string:
		p.text(value)
	case int64:
		p.out = strconv.AppendInt(p.out, value, 10)
	case bool:
		p.out = strconv.AppendBool(p.out, value)
	case nil:
		p.add("null")
	default:
		p.isHard = true
	}
	p.end()
}

// text prints a text: plain, or in double quotes if it would be read as something else.
func (p *printer) text(s string) {
	value, ok := resolve(s)
	switch isText := ok && value == any(s); {
	case !isPrintable(s) || isDate(s) || s == "<<":
		p.isHard = true
	case isText && isPlain(s) && (len(p.out)-p.line+len(s) <= maxColumn || strings.IndexByte(s, ' ') < 0):
		p.add(s)
	case !isText && !strings.ContainsAny(s, ` "\`):
		p.add(`"`).add(s).add(`"`)
	default:
		p.isHard = true
	}
}

// isPrintable reports whether a text has only printable characters of ASCII.
func isPrintable(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return r < ' ' || r > '~' }) < 0
}

// isDate reports whether a text could be a date or a number to the base 60, which are quoted although they are read as
// texts.
func isDate(s string) bool {
	s = strings.TrimPrefix(strings.TrimPrefix(s, "+"), "-")
	return s != "" && isDigit(s[0]) && strings.ContainsAny(s[1:], ":-")
}

// isPlain reports whether a printable text can stand without quotes: nothing in it begins a comment, a value, or
// anything else that YAML has.
func isPlain(s string) bool {
	const begins, beginsAlone = "#,[]{}&*!|>'\"%@`", "?:-"
	return s != "" && strings.IndexByte(begins, s[0]) < 0 &&
		(strings.IndexByte(beginsAlone, s[0]) < 0 || len(s) > 1 && s[1] != ' ') &&
		s[0] != ' ' && s[len(s)-1] != ' ' && s[len(s)-1] != ':' &&
		!strings.Contains(s, ": ") && !strings.Contains(s, " #") &&
		!strings.HasPrefix(s, "---") && !strings.HasPrefix(s, "...")
}

// compareKeys orders keys as the library does: letters come after everything else. Numbers in keys are left to the
// library, which orders them by their value.
func (p *printer) compareKeys(a, b string) int {
	for i := 0; i < len(a) && i < len(b); i++ {
		switch x, y := a[i], b[i]; {
		case x == y:
		case isLetter(x) != isLetter(y):
			if isLetter(y) {
				return -1
			}
			return 1
		case isDigit(x) || isDigit(y):
			p.isHard = true
			return 0
		default:
			return int(x) - int(y)
		}
	}
	return len(a) - len(b)
}

func isLetter(c byte) bool { return 'a' <= c|' ' && c|' ' <= 'z' }

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func (p *printer) add(s string) *printer {
	p.out = append(p.out, s...)
	return p
}

func (p *printer) end() {
	p.out = append(p.out, '\n')
	p.line = len(p.out)
}

func (p *printer) indent(spaces int) {
	for range spaces {
		p.out = append(p.out, ' ')
	}
}
