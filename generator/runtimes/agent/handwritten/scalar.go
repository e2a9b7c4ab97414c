package handwritten

import (
	"math"
	"net/url"
	"slices"
	"strings"
	"time"

	prommodel "github.com/prometheus/common/model"
	yamlv2 "go.yaml.in/yaml/v2"
	"go.yaml.in/yaml/v3"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/internal/expand"
)

const quoted = yaml.DoubleQuotedStyle | yaml.SingleQuotedStyle | yaml.LiteralStyle | yaml.FoldedStyle

// resolve returns a scalar as the agent's YAML 1.1 reader decodes it: a string, a bool, or a number.
func resolve(n *yaml.Node) any {
	text := n.Value
	if n.Kind != yaml.ScalarNode || n.Style&(quoted|yaml.TaggedStyle) != 0 || text == "" ||
		strings.Contains(text, "\n") {
		return text
	}
	if !strings.ContainsRune("+-.0123456789~<=yYnNtTfFoO", rune(text[0])) {
		return text // nothing else begins like this
	}
	var v any
	if err := yamlv2.Unmarshal([]byte(text), &v); err != nil {
		return text
	}
	switch v.(type) {
	case string, bool, int, int64, uint64, float64, nil:
		return v
	}
	return text
}

func isText(n *yaml.Node) bool {
	_, ok := resolve(n).(string)
	return ok && n.Kind == yaml.ScalarNode
}

// live reports whether a scalar has variables in it.
func live(n *yaml.Node) bool {
	if n.Kind != yaml.ScalarNode || !strings.Contains(n.Value, "$") {
		return false
	}
	refs, ok := expand.References(n.Value)
	return len(refs) > 0 || !ok
}

// literal returns the text of a scalar as the agent reads it. known is false if it has variables.
func literal(n *yaml.Node) (text string, known bool) {
	if n.Kind != yaml.ScalarNode || live(n) {
		return "", false
	}
	return strings.ReplaceAll(n.Value, "$$", "$"), true
}

// scalar checks a scalar by its type.
func (c *checker) scalar(of string, n *yaml.Node, path string) {
	if n.Kind != yaml.ScalarNode {
		c.mismatch(n, path, wanted(of))
		return
	}
	text, known := literal(n)
	switch {
	case known:
		c.content(of, n, text, path)
	case n.Style&quoted != 0 && bare(of):
		c.wrong(n, "write the variable without quotes", "%s: is a text, and the agent wants a %s", path, wanted(of))
	}
}

// bare reports whether the type is not a text.
func bare(of string) bool {
	return of == "bool" || strings.HasPrefix(of, "int") && of != "interval" || strings.HasPrefix(of, "uint") ||
		strings.HasPrefix(of, "float")
}

// content checks a scalar without variables.
func (c *checker) content(of string, n *yaml.Node, text, path string) {
	if of != "string" && !fits(of, resolve(n)) {
		c.mismatch(n, path, wanted(of))
		return
	}
	switch of {
	case "interval":
		if _, err := prommodel.ParseDuration(text); err != nil {
			c.refuse(diag.InvalidDuration, n, "", "%s: is not a duration, like 30s or 1m30s", path)
		}
	case "duration":
		if s, ok := resolve(n).(string); ok {
			c.goDuration(n, s, path)
		}
	case "size":
		if !isSize(text) {
			c.wrong(n, "", "%s: is not a size, like 10MB", path)
		}
	case "secret":
		// The agent's reader takes these for nulls, even in quotes, if the type is a structure.
		if text == "null" || text == "~" {
			c.wrong(n, "", "%s: is a null to the agent, also in quotes", path)
		}
	case "url":
		if _, err := url.Parse(text); err != nil || text == "null" || text == "~" {
			c.wrong(n, "", "%s: is not a URL", path)
		}
	case "label":
		if !prommodel.LabelName(text).IsValidLegacy() {
			c.refuse(diag.InvalidLabelName, n, "use letters, digits and underscores", "%s: is not a label name", path)
		}
	case "tls version":
		c.oneOf(n, path, []string{"TLS10", "TLS11", "TLS12", "TLS13"})
	}
}

func (c *checker) goDuration(n *yaml.Node, text, path string) {
	if _, err := time.ParseDuration(text); err != nil {
		hint := ""
		if strings.ContainsAny(text, "dwy") {
			hint = "the largest unit is the hour: a day is 24h"
		}
		c.refuse(diag.InvalidDuration, n, hint, "%s: is not a duration, like 30s or 1h30m", path)
	}
}

// fits reports whether the agent reads a value as one of the type.
func fits(of string, v any) bool {
	switch {
	case v == nil:
		return false
	case of == "text":
		_, ok := v.(string)
		return ok
	case of == "bool":
		_, ok := v.(bool)
		return ok
	case of == "duration":
		if _, ok := v.(string); ok {
			return true // goDuration checks its content
		}
		of = "int64"
	case !bare(of):
		return true
	}
	f, ok := number(v)
	low, high := bounds(of)
	return ok && f >= low && f <= high
}

func number(v any) (f float64, ok bool) {
	switch v := v.(type) {
	case int:
		return float64(v), true
	case int64:
		return float64(v), true
	case uint64:
		return float64(v), true
	case float64:
		return v, !math.IsNaN(v)
	}
	return 0, false
}

// bounds returns the least and the greatest number of a type.
func bounds(of string) (low, high float64) {
	switch of {
	case "int", "int64":
		return math.MinInt64, math.Nextafter(math.MaxInt64, 0)
	case "uint", "uint64":
		return 0, math.Nextafter(math.MaxUint64, 0)
	case "uint32":
		return 0, math.MaxUint32
	}
	return math.Inf(-1), math.Inf(1)
}

// wanted returns the name of a type, for messages.
func wanted(of string) string {
	switch {
	case of == "bool":
		return "boolean"
	case bare(of):
		return "number"
	case slices.Contains([]string{"interval", "duration"}, of):
		return "duration"
	}
	return "text"
}
