package agent

import (
	"fmt"
	"hash"
	"maps"
	"slices"
	"strconv"

	"github.com/agentry-dev/agentry/generator/internal/credential"
	"github.com/agentry-dev/agentry/generator/internal/expand"
	"github.com/agentry-dev/agentry/generator/internal/yamltext"
	"github.com/agentry-dev/agentry/generator/model"
	"github.com/agentry-dev/agentry/generator/runtimes"
)

// indentStep is the number of spaces for one level of nesting.
const indentStep = 2

// writer appends block-style YAML to a buffer. Keys of a mapping are written at the current indentation; the first
// key of a list item follows its dash. With a tree, it makes values instead.
type writer struct {
	tree    *tree
	newer   bool // settings that the agent lacks are written too
	buf     []byte
	level   int  // nesting depth of the next key
	pending bool // a list dash was written: the next key goes on its line
	expand  bool // strings are written without protecting dollars
	quote   bool // strings are always written in quotes
	view    view
	hides   bool // reviewers see something else
	written map[writtenRule]extent
	spans   []runtimes.Span // of what is written
	// secrets gets every secret value in the masked view.
	secrets hash.Hash
	// soFar gets what is written, in steps, and told is how much it got. It can be nil.
	soFar func([]byte)
	told  int
}

// step is how many bytes are written before they are told.
const step = 256 << 10

// tell says what is written so far, which does not change any more.
func (w *writer) tell() {
	if w.soFar != nil && len(w.buf)-w.told >= step {
		w.told = len(w.buf)
		w.soFar(w.buf)
	}
}

// view is who a configuration is written for.
type view int

const (
	// full is for the agent.
	full view = iota
	// reviewed is for people: a placeholder stands for each credential, wherever it is.
	reviewed
	// masked has a placeholder for what the agent hides when it compares configurations.
	masked
)

// placeholder stands for a secret value.
const placeholder = "<redacted>"

// extent is where a rule is written: from one position to another.
type extent struct{ from, to int }

// mark notes what is written from a position to the end.
func (w *writer) mark(span runtimes.Span, start int) {
	span.Start, span.End = start, len(w.buf)
	w.spans = append(w.spans, span)
}

// conceal returns shown, which reviewers see in the place of a value, or the value.
func (w *writer) conceal(value, shown string) string {
	w.hides = w.hides || value != shown
	if w.view == reviewed {
		return shown
	}
	return value
}

// inline returns a secret value or its placeholder. Reviewers see a token that only refers to variables.
func (w *writer) inline(s model.Secret) string {
	switch {
	case w.view == masked:
		fmt.Fprintf(w.secrets, "%d %s\n", len(s.Value), s.Value)
		return placeholder
	case s.Variables && !credential.Written(s.Value):
		return s.Value
	}
	return w.conceal(s.Value, placeholder)
}

// url writes a URL, unless it is absent. Only reviewers do not see its password: to the agent it is like any other
// text.
func (w *writer) url(k string, v model.Text) {
	v.Value = w.conceal(v.Value, credential.Redacted(v.Value))
	w.text(k, v)
}

// field returns the value of a header or parameter.
func (w *writer) field(name, value string) string {
	if credential.InField(name, value) {
		return w.conceal(value, placeholder)
	}
	return value
}

// appendString appends a string that must not be expanded: a dollar that would be is written as \x24.
func appendString(buf []byte, s string) []byte {
	if expand.Touches(s) {
		return yamltext.AppendQuoted(buf, s, true)
	}
	return yamltext.Append(buf, s)
}

const spaces = "                                                                "

func (w *writer) newline() {
	if w.pending {
		w.pending = false
		return
	}
	for n := w.level * indentStep; n > 0; n -= len(spaces) {
		w.buf = append(w.buf, spaces[:min(n, len(spaces))]...)
	}
}

// key writes "key:" without a value.
func (w *writer) key(k string) {
	if w.tree != nil {
		w.tree.key(k)
		return
	}
	w.newline()
	w.buf = append(w.buf, k...)
	w.buf = append(w.buf, ':')
}

// open writes a key whose value is a block on the following lines.
func (w *writer) open(k string) {
	w.key(k)
	w.begin()
}

// openMap is open for a key that a user chose.
func (w *writer) openMap(k string) {
	w.mapKey(k)
	w.begin()
}

// begin begins a block after its key.
func (w *writer) begin() {
	if w.tree != nil {
		w.tree.push()
		return
	}
	w.buf = append(w.buf, '\n')
	w.level++
}

func (w *writer) close() {
	if w.tree != nil {
		w.tree.pop()
		return
	}
	w.level--
}

// item starts a list item. The next key is written on the same line.
func (w *writer) item() {
	if w.tree != nil {
		w.tree.push()
		return
	}
	w.dash()
	w.pending = true
	w.level++
}

// endItem ends a list item. An item without keys is {}.
func (w *writer) endItem() {
	if w.tree != nil {
		w.tree.pop()
		return
	}
	if w.pending {
		w.buf = append(w.buf, '{', '}', '\n')
		w.pending = false
	}
	w.level--
}

// dash starts a list item that is not a block.
func (w *writer) dash() {
	if w.tree == nil {
		w.newline()
		w.buf = append(w.buf, '-', ' ')
	}
}

// empty writes {} or [] after a key or dash.
func (w *writer) empty(v any, text string) {
	if w.tree != nil {
		w.tree.put(v)
		return
	}
	if w.buf[len(w.buf)-1] == ':' {
		w.buf = append(w.buf, ' ')
	}
	w.buf = append(w.buf, text...)
	w.buf = append(w.buf, '\n')
}

func (w *writer) emptyMap()  { w.empty(map[string]any{}, "{}") }
func (w *writer) emptyList() { w.empty([]any{}, "[]") }

// scalar writes a string as the value of a key or as a list item.
func (w *writer) scalar(s string) {
	if w.tree != nil {
		w.tree.put(s)
		return
	}
	switch {
	case w.quote:
		w.buf = yamltext.AppendQuoted(w.buf, s, !w.expand)
	case w.expand:
		w.buf = yamltext.Append(w.buf, s)
	default:
		w.buf = appendString(w.buf, s)
	}
	w.buf = append(w.buf, '\n')
}

// str writes the pair even if the value is empty.
func (w *writer) str(k, v string) {
	w.key(k)
	w.space()
	w.scalar(v)
}

// space separates a key from a value on its line.
func (w *writer) space() {
	if w.tree == nil {
		w.buf = append(w.buf, ' ')
	}
}

// plain writes a value that YAML reads from text without quotes.
func (w *writer) plain(v any, text string) {
	if w.tree != nil {
		w.tree.put(v)
		return
	}
	w.buf = append(w.buf, text...)
	w.buf = append(w.buf, '\n')
}

// optStr writes the pair unless the value is empty.
func (w *writer) optStr(k, v string) {
	if v != "" {
		w.str(k, v)
	}
}

// live writes a text in which variables are expanded, unless it is empty.
func (w *writer) live(k string, v model.String) { w.text(k, model.Expanded(string(v))) }

func (w *writer) text(k string, v model.Text) {
	if v.Set {
		w.key(k)
		w.space()
		w.words(v)
	}
}

// words writes a text as the value of a key or as a list item. A text with references is in quotes, so that a value may
// be nearly any text.
func (w *writer) words(v model.Text) {
	if v.Variables && w.tree == nil {
		w.buf = append(yamltext.AppendQuoted(w.buf, v.Value, false), '\n')
		return
	}
	w.scalar(v.Value)
}

// secret writes the value or key_file, depending on the policy.
func (w *writer) secret(k, fileKey string, s model.Secret) {
	switch {
	case s.File != "":
		w.text(fileKey, s.FileName())
	case s.Present():
		w.key(k)
		w.space()
		encodeSecret(w, s)
	}
}

// encodeSecret writes a secret that is not a file, after its key or dash.
func encodeSecret(w *writer, s model.Secret) {
	switch {
	case s.Env != "":
		w.plain("$("+s.Env+")", "'$("+s.Env+")'")
	case w.tree != nil:
		w.tree.put(s.Value)
	default:
		w.buf = yamltext.AppendQuoted(w.buf, w.inline(s), !s.Variables)
		w.buf = append(w.buf, '\n')
	}
}

func (w *writer) boolean(k string, v bool) {
	w.key(k)
	w.space()
	w.plain(v, strconv.FormatBool(v))
}

// identity writes a user name or an id, which the agent does not hide.
func (w *writer) identity(k, fileKey string, s model.Secret) {
	switch {
	case s.File != "":
		w.str(fileKey, s.File)
	case s.Present():
		w.key(k)
		w.space()
		encodeIdentity(w, s)
	}
}

// encodeIdentity writes an identity after its key.
func encodeIdentity(w *writer, s model.Secret) {
	view := w.view
	if view == masked {
		w.view = full
	}
	encodeSecret(w, s)
	w.view = view
}

// optTrue writes the pair if the value is true.
func (w *writer) optTrue(k string, v bool) {
	if v {
		w.boolean(k, true)
	}
}

func (w *writer) optBool(k string, v *bool) {
	if v != nil {
		w.boolean(k, *v)
	}
}

func (w *writer) integer(k string, v int64) {
	w.key(k)
	w.space()
	w.plain(int(v), strconv.FormatInt(v, 10))
}

// optInt writes the pair unless the value is zero.
func (w *writer) optInt(k string, v int64) {
	if v != 0 {
		w.integer(k, v)
	}
}

func (w *writer) strs(k string, list []string) {
	if len(list) == 0 {
		return
	}
	w.open(k)
	for _, s := range list {
		w.dash()
		w.scalar(s)
	}
	w.close()
}

// maxSimpleKeyBytes is below the 1024 characters that YAML allows for a key before its colon. Longer keys need the
// explicit form.
const maxSimpleKeyBytes = 1000

// mapKey writes a key that a user chose, with its colon.
func (w *writer) mapKey(k string) {
	if w.tree != nil {
		w.tree.key(k)
		return
	}
	w.newline()
	start := len(w.buf)
	w.buf = appendString(w.buf, k)
	if len(w.buf)-start > maxSimpleKeyBytes {
		w.buf = append(w.buf[:start], '?', ' ')
		w.buf = append(appendString(w.buf, k), '\n')
		w.newline()
	}
	w.buf = append(w.buf, ':')
}

// labels writes a map of strings, sorted by key.
func (w *writer) labels(k string, m map[string]string) {
	entries(w, k, m, func(name, v string) { w.scalar(w.field(name, v)) })
}

// headers writes a map of texts in which variables are expanded, sorted by key.
func (w *writer) headers(k string, m model.Expandable) {
	entries(w, k, m, func(name, v string) { w.words(model.Expanded(w.field(name, v))) })
}

// entries writes a map, sorted by key. value writes a value after its key.
func entries[V any](w *writer, k string, m map[string]V, value func(name string, v V)) {
	if len(m) == 0 {
		return
	}
	w.open(k)
	for _, name := range slices.Sorted(maps.Keys(m)) {
		w.mapKey(name)
		w.space()
		value(name, m[name])
	}
	w.close()
}

// params writes a map of string lists, sorted by key.
func (w *writer) params(k string, m map[string][]string) {
	if len(m) == 0 {
		return
	}
	w.open(k)
	for _, name := range slices.Sorted(maps.Keys(m)) {
		w.mapKey(name)
		if len(m[name]) == 0 {
			w.emptyList()
			continue
		}
		w.begin()
		for _, v := range m[name] {
			w.dash()
			w.scalar(w.field(name, v))
		}
		w.close()
	}
	w.close()
}

// list writes a key with one item for each element.
func list[T any](w *writer, k string, items []T, encode func(*writer, *T)) {
	if len(items) == 0 {
		return
	}
	w.open(k)
	for i := range items {
		w.item()
		encode(w, &items[i])
		w.endItem()
	}
	w.close()
}

// block writes a key with a mapping, or {} if encode writes nothing.
func block[T any](w *writer, k string, v *T, encode func(*writer, *T)) {
	if v != nil && !optBlock(w, k, v, encode) {
		w.key(k)
		w.emptyMap()
	}
}

// optBlock writes a key with a mapping, or nothing if encode writes nothing. It reports whether there is a mapping.
func optBlock[T any](w *writer, k string, v *T, encode func(*writer, *T)) bool {
	start, pending := len(w.buf), w.pending
	w.open(k)
	body := len(w.buf)
	encode(w, v)
	switch {
	case w.tree != nil && w.tree.isEmpty():
		w.tree.drop()
		return false
	case w.tree == nil && len(w.buf) == body:
		w.close()
		w.buf, w.pending = w.buf[:start], pending
		return false
	}
	w.close()
	return true
}
