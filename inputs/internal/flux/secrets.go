package flux

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"encoding/hex"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"sigs.k8s.io/yaml"

	"github.com/agentry-dev/agentry/inputs/helm"
	"github.com/agentry-dev/agentry/inputs/roots"
)

// secrets maps values from Secrets to the field of the HelmRelease that refers to them.
type secrets map[string]string

// secrets returns for each document of a chart what it holds of the release's values from Secrets: the values
// themselves, and what the chart makes of them. To find that, the chart is rendered again with other values in their
// place: what then differs is made of them.
func (m Release) secrets(ctx context.Context, charts *Charts, h *HelmRelease, r roots.Root, docs []helm.Document) (
	[]map[string]string, error) {
	own := m.values(h, string(r.RequestedBy.Text))
	all := maps.Clone(own)
	for value, by := range r.Secret {
		all[value] = cmp.Or(all[value], by)
	}
	out := make([]map[string]string, len(docs))
	if len(all) == 0 {
		return out, nil
	}
	again := *h
	again.replace = all.replacer()
	others, _, err := charts.Render(ctx, &again, m.object)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	for value, by := range all {
		if err != nil || otherValue(value) == value { // the other values do not tell
			own.addEncoded(value, by)
		}
	}
	var found comparison
	if err == nil {
		wanted, _ := h.Chart(m.object) // which is fetched already
		files, _, failed := charts.files(ctx, wanted)
		if failed != nil {
			return nil, failed
		}
		found = comparison{by: strings.Join(slices.Compact(slices.Sorted(maps.Values(all))), " or "), chart: files}
		found.with(helm.Filter(others, h.Namespace(), isRead).Documents, docs)
	}
	for i, d := range docs {
		out[i] = own.in(d.Text)
		if err != nil {
			continue
		}
		for text := range found.differing(i, d) {
			out[i][text] = cmp.Or(out[i][text], found.by)
		}
	}
	return out, nil
}

// values returns the values that the release takes from Secrets, except those that also occur in clear.
func (m Release) values(h *HelmRelease, clear string) secrets {
	out := secrets{}
	for i, ref := range h.Spec.ValuesFrom {
		if ref.Kind != "Secret" && !m.Encrypted[ref.id(h.Metadata.Namespace)] {
			continue
		}
		field := "spec.valuesFrom" + index(i)
		text, found, err := ref.read(field, h.Metadata.Namespace, m.object)
		if !found || err != nil {
			continue
		}
		var value any = text
		if ref.TargetPath == "" && yaml.Unmarshal([]byte(text), &value) != nil {
			continue
		}
		out.add(field, value, clear)
	}
	return out
}

// add adds the strings in a value that are not too short and not in clear.
func (s secrets) add(field string, value any, clear string) {
	switch value := value.(type) {
	case map[string]any:
		for _, inner := range value {
			s.add(field, inner, clear)
		}
	case []any:
		for _, inner := range value {
			s.add(field, inner, clear)
		}
	case string:
		if len(value) >= roots.ShortestSecret && !strings.Contains(clear, value) {
			s[value] = field
		}
	}
}

// addEncoded adds what a chart often makes of a value.
func (s secrets) addEncoded(value, by string) {
	for _, text := range append(strings.Split(value, "\n"), base64.StdEncoding.EncodeToString([]byte(value)),
		base64.URLEncoding.EncodeToString([]byte(value)), hex.EncodeToString([]byte(value)), strings.ToUpper(value),
		strings.ToLower(value), url.QueryEscape(value), url.PathEscape(value)) {
		if text = strings.TrimSpace(text); len(text) >= roots.ShortestSecret {
			s[text] = cmp.Or(s[text], by)
		}
	}
}

// in returns the secrets that occur in text.
func (s secrets) in(text string) map[string]string {
	out := maps.Clone(s)
	maps.DeleteFunc(out, func(value, _ string) bool { return !strings.Contains(text, value) })
	return out
}

// replacer puts other values in the place of the secrets.
func (s secrets) replacer() *strings.Replacer {
	values := slices.SortedFunc(maps.Keys(s), func(a, b string) int {
		return cmp.Or(cmp.Compare(len(b), len(a)), strings.Compare(a, b)) // a value may contain another
	})
	var pairs []string
	for _, value := range values {
		pairs = append(pairs, value, otherValue(value))
	}
	return strings.NewReplacer(pairs...)
}

// otherValue returns a value with other characters of the same kinds, so that most checks of a chart accept it: a digit
// is another digit, and a letter another letter, of hexadecimal numbers if it may be of one.
func otherValue(value string) string {
	return strings.Map(func(r rune) rune {
		next := func(first, last rune) rune {
			if r == last {
				return first
			}
			return r + 1
		}
		for _, kind := range []string{"09", "af", "gz", "AF", "GZ"} {
			if first, last := rune(kind[0]), rune(kind[1]); first <= r && r <= last {
				return next(first, last)
			}
		}
		if r > unicode.MaxASCII && r != utf8.RuneError {
			return r ^ 1
		}
		return r
	}, value)
}

// replaced returns a value with its strings replaced.
func replaced(value any, by *strings.Replacer) any {
	switch value := value.(type) {
	case map[string]any:
		out := make(map[string]any, len(value))
		for key, inner := range value {
			out[key] = replaced(inner, by)
		}
		return out
	case []any:
		out := make([]any, len(value))
		for i, inner := range value {
			out[i] = replaced(inner, by)
		}
		return out
	case string:
		return by.Replace(value)
	}
	return value
}

// comparison compares the documents of a chart with those that it gives with other values.
type comparison struct {
	by    string
	chart []helm.File // what is written there is no secret
	// texts are those of the other documents by path, one by one if the documents are the same ones, and all are all
	// of them.
	texts []map[string]string
	all   map[string]bool
}

// with sets the other documents.
func (c *comparison) with(others, docs []helm.Document) {
	c.all = map[string]bool{}
	isSame := slices.EqualFunc(others, docs, func(a, b helm.Document) bool {
		return a.Template == b.Template && a.Kind == b.Kind
	})
	for _, d := range others {
		texts := textsOf(d)
		for _, text := range texts {
			c.all[text] = true
		}
		if isSame {
			c.texts = append(c.texts, texts)
		}
	}
}

// differing returns the parts of the texts of a document that are not in the other one, nor anywhere if it has none at
// that path.
func (c *comparison) differing(i int, d helm.Document) map[string]bool {
	out := map[string]bool{}
	for path, text := range textsOf(d) {
		other, found := "", false
		if c.texts != nil {
			other, found = c.texts[i][path]
		}
		isWritten := func(f helm.File) bool { return bytes.Contains(f.Data, []byte(text)) }
		if found && other == text || !found && c.all[text] ||
			len(text) >= roots.ShortestSecret && slices.ContainsFunc(c.chart, isWritten) {
			continue
		}
		if part := differingPart(text, other); part != "" {
			out[part] = true
		}
	}
	return out
}

// differingPart returns a text without the beginning and the end that another has, too.
func differingPart(text, other string) string {
	for text != "" && other != "" && text[0] == other[0] {
		text, other = text[1:], other[1:]
	}
	for text != "" && other != "" && text[len(text)-1] == other[len(other)-1] {
		text, other = text[:len(text)-1], other[:len(other)-1]
	}
	return text
}

// textsOf returns the lines of the texts and numbers of a document, and its keys, by path.
func textsOf(d helm.Document) map[string]string {
	out := map[string]string{}
	var object any
	if yaml.Unmarshal([]byte(d.Text), &object) != nil {
		object = d.Text
	}
	addTexts(out, "", object)
	return out
}

func addTexts(out map[string]string, path string, value any) {
	switch value := value.(type) {
	case map[string]any:
		for key, inner := range value {
			out[path+"."+key] = key
			addTexts(out, path+"."+key, inner)
		}
	case []any:
		for i, inner := range value {
			addTexts(out, path+index(i), inner)
		}
	case float64:
		out[path+">"] = strconv.FormatFloat(value, 'f', -1, 64)
	case string:
		for i, line := range strings.Split(value, "\n") {
			out[path+">"+index(i)] = line
		}
	}
}
