package integration

import (
	"cmp"
	"slices"
	"strings"

	"github.com/prometheus/common/model"

	"github.com/agentry-dev/agentry/internal/expression"
	"github.com/agentry-dev/agentry/internal/lazyregexp"
)

// Rules of the integrations that map what they read to metrics: statsd and mssql.

// Names that statsd_exporter accepts.
var (
	statsdMatch = lazyregexp.New(`^(?:\*|[a-zA-Z_][\w-]*)(?:\.(?:\*|\w[\w-]*))*$`)
	statsdName  = lazyregexp.New(`^(?:[a-zA-Z_]|\$\{?\d+\}?)(?:\w|\$\{?\d+\}?)*$`)
	statsdLabel = lazyregexp.New(`^[a-zA-Z_]\w+$`)
)

func statsd(o object) {
	if none(o, "listen_udp", "listen_tcp", "listen_unixgram") {
		o.wrong(o.path, "", "all of listen_udp, listen_tcp and listen_unixgram are empty: the agent would not start")
	}
	size, known := o.integer("cache_size")
	if kind, ok := o.text("cache_type"); ok && known && size != 0 && kind != "lru" && kind != "random" {
		o.wrong(o.at("cache_type"), "it is lru or random", "%q is not a cache that the agent knows", kind)
	}
	for _, m := range o.object("mapping_config").objects("mappings") {
		statsdGlob(m, o.object("mapping_config").object("defaults"))
	}
}

func none(o object, fields ...string) bool {
	return !slices.ContainsFunc(fields, func(f string) bool {
		text, known := o.text(f)
		return !known || text != ""
	})
}

// statsdGlob checks the match of a mapping, which can be a glob or a regular expression.
func statsdGlob(o, defaults object) {
	kind, known := o.text("match_type")
	if byDefault, ok := defaults.text("match_type"); kind == "" && !o.has("match_type") {
		kind, known = byDefault, known && ok
	}
	match, ok := o.text("match")
	switch {
	case !known || !ok:
	case kind == "regex":
		if err := expression.Check(match); err != nil {
			o.wrong(o.at("match"), "", "is not a regular expression: %v", err)
		}
	case !statsdMatch.MatchString(match):
		path := o.path
		if o.has("match") {
			path = o.at("match")
		}
		o.wrong(path, "set match_type: regex for a regular expression",
			"%q is not a glob: words of letters, digits, _ and -, or *, joined by dots", match)
	}
}

func statsdMapping(o object) {
	if name, known := o.text("name"); known && name != "" && !statsdName.MatchString(name) {
		o.wrong(o.at("name"), "", "%q is not the name of a metric", name)
	}
	for _, label := range o.keys("labels") {
		if !statsdLabel.MatchString(label) {
			o.wrong(child(o.at("labels"), label), "", "%q is not a label name of at least two characters", label)
		}
	}
	kind, _ := o.text("observer_type")
	kind2, _ := o.text("timer_type")
	switch cmp.Or(kind, kind2) {
	case "histogram":
		o.conflicts("summary_options", "a histogram")
	case "summary":
		o.conflicts("histogram_options", "a summary")
	}
	if o.has("quantiles") && o.object("summary_options").has("quantiles") {
		o.wrong(o.at("quantiles"), "remove them", "quantiles are in summary_options as well")
	}
	if o.has("buckets") && o.object("histogram_options").has("buckets") {
		o.wrong(o.at("buckets"), "remove them", "buckets are in histogram_options as well")
	}
}

func (o object) conflicts(field, with string) {
	if o.has(field) {
		o.wrong(o.at(field), "remove it", "%s does not go with %s", field, with)
	}
}

func mssql(o object) {
	text, known := o.text("connection_string")
	if known && text != "" && !strings.HasPrefix(strings.ToLower(text), "sqlserver:") {
		o.wrong(o.at("connection_string"), "",
			"connection_string is not a URL that begins with sqlserver://: the agent would not start")
	}
	o.parses("connection_string")
	o.atLeastOne("max_idle_connections")
	o.atLeastOne("max_open_connections")
	if d, known := o.duration("timeout"); known && d <= 0 {
		o.wrong(o.at("timeout"), "", "timeout must be above zero")
	}
}

// mssqlQueries checks that metrics refer to queries that exist.
func mssqlQueries(o object) {
	var names []string
	for _, q := range o.objects("queries") {
		if text, known := q.text("query_name"); known {
			names = append(names, text)
		}
	}
	for _, m := range o.objects("metrics") {
		if ref, known := m.text("query_ref"); known && ref != "" && !slices.Contains(names, ref) {
			o.wrong(m.at("query_ref"), oneOf(ref, names), "queries has no %s: the agent would not start", ref)
		}
	}
}

func mssqlMetric(o object) {
	kinds := []string{"counter", "gauge"}
	if text, known := o.text("type"); known && text != "" && !slices.Contains(kinds, strings.ToLower(text)) {
		o.wrong(o.at("type"), oneOf(text, kinds), "%q is not a type of metric", text)
	}
	if o.given("query") == o.given("query_ref") {
		o.wrong(o.path, "", "needs either query or query_ref")
	}
	values := len(o.items("values"))
	switch {
	case values == 0 && !o.has("static_value"):
		o.wrong(o.path, "", "has no values: name the columns in values")
	case values > 0 && o.has("static_value"):
		o.wrong(o.at("static_value"), "remove one of them", "static_value and values exclude each other")
	case values > 1 && !o.given("value_label"):
		o.wrong(o.path, "", "several values need value_label")
	}
	labels, paths := o.texts("key_labels")
	for i, label := range labels {
		if !model.LabelName(label).IsValidLegacy() {
			o.wrong(paths[i], "", "%q is not a label name", label)
		}
		if slices.Contains(labels[:i], label) {
			o.wrong(paths[i], "remove it", "%s is listed twice", label)
		}
	}
}
