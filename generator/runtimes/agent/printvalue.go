package agent

import (
	"strconv"
	"strings"

	"github.com/agentry-dev/agentry/generator/model"
)

// pairs writes the pairs of a map at the current indentation.
func (w *writer) pairs(m model.Map) {
	for i := range m {
		w.mapKey(m[i].Key)
		w.value(m[i].Value)
	}
}

// value writes what follows a key and its colon.
func (w *writer) value(v model.Value) {
	switch v := v.(type) {
	case model.Map:
		if len(v) == 0 {
			w.emptyMap()
			return
		}
		w.begin()
		w.pairs(v)
		w.close()
	case model.List:
		if len(v) == 0 {
			w.emptyList()
			return
		}
		w.begin()
		w.items(v)
		w.close()
	default:
		w.space()
		w.plainValue(v)
	}
}

// items writes the items of a list.
func (w *writer) items(l model.List) {
	for _, v := range l {
		switch v := v.(type) {
		case model.Map:
			w.item()
			w.pairs(v)
			w.endItem()
		case model.List:
			if len(v) == 0 {
				w.dash()
				w.emptyList()
				continue
			}
			w.item()
			w.items(v)
			w.endItem()
		default:
			w.dash()
			w.plainValue(v)
		}
	}
}

func (w *writer) plainValue(v model.Value) {
	switch v := v.(type) {
	case model.String:
		w.scalar(string(v))
	case model.Credential:
		w.credential(v)
	case model.Secret:
		encodeSecret(w, v)
	case model.Identity:
		encodeIdentity(w, v.Secret)
	case model.Variable:
		w.plain(string(v), string(v))
	case model.Bool:
		w.plain(bool(v), strconv.FormatBool(bool(v)))
	case model.Number:
		w.number(string(v))
	default:
		w.plain(nil, "")
	}
}

// credential writes a credential, or what stands in its place.
func (w *writer) credential(c model.Credential) {
	text := ""
	switch v := c.Value.(type) {
	case model.String:
		text = string(v)
	case model.Number:
		text = string(v)
	}
	if c.Masked || w.view != masked {
		if shown := w.inline(model.Secret{Value: text, Set: true}); w.view != full {
			w.scalar(shown)
			return
		}
	}
	w.plainValue(c.Value)
}

// number writes a number after its key or dash.
func (w *writer) number(text string) {
	text = string(appendNumber(nil, text))
	w.plain(readNumber(text), text)
}

// appendNumber appends a number in a spelling that every reader understands: YAML 1.1 needs a sign and a point with
// an exponent.
func appendNumber(buf []byte, text string) []byte {
	if !strings.ContainsAny(text, ".eE") {
		return append(buf, text...)
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return append(buf, text...)
	}
	const exact = 1 << 53 // larger integers may have no float64
	if f == float64(int64(f)) && f < exact && f > -exact {
		return strconv.AppendInt(buf, int64(f), 10)
	}
	text = strconv.FormatFloat(f, 'g', -1, 64)
	if mantissa, exponent, ok := strings.Cut(text, "e"); ok && !strings.Contains(mantissa, ".") {
		text = mantissa + ".0e" + exponent
	}
	return append(buf, text...)
}
