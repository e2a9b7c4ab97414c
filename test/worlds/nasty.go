package worlds

import (
	"maps"
	"slices"
	"strings"
)

// numbers are written without quotes, for fields that are no text.
var numbers = []string{"0", "-1", "1", "2", "1000000", "9007199254740993", "2147483647", "-2147483648", "true", "false", "null", "0.5", "1e3"}

// texts are for every field.
var texts = []string{
	"", " ", "x", "yes", "null", "~", "1.50", "0x10", "1e3", "${X}", "${X:-y}", "$(X)", "$(POD_NAME)", "${HOSTNAME}", "$$", "$1", "${1}", "${", "a$", "$(",
	"ä", "日本", "a\nb", "a\x00b", "\t", "a: b", "- a", "# a", "'", "\"", "\\", "*", "&a", "!x", "|", "%", "@", "{}", "[]", "{{ .Value }}", "{{",
	"a.b", "a-b", "a/b", "a b", "__name__", "job", "__address__", "__path__", "namespace", "cluster", "9a", "A", "--", "..", "/", "a//b",
	strings.Repeat("x", 64), strings.Repeat("y", 300), "(", "[", "a{,b}", "(?P<n>x)", "(?=x)", "\xff",
	"18446744073709551616", "-1", "0", "1",
}

// durations are for fields that hold some.
var durations = []string{
	"", "0", "0s", "1", "1s", "10s", "1m", "61m", "1h30m", "1d", "1w", "1y", "1.5s", "-5s", "500ms", "1us", "1ns", "5 s", "s", "1h1h", "30m1h", "300000h",
	"106752d", "293y", "1M", "99999999999999999999s", "+5s", ".5s",
}

var urls = []string{
	"", "http://", "https://h", "h:80", "//h/p", "/p", "http://h:99999", "http://h:x", "http://[::1", "http://u:p@h", "http://h/%zz", "ftp://h", "http://h/${X}",
	"HTTP://h", "http://a b", "http://h\n", "http:/h", ":", "http://u:${P}@h", "h", "http://h?a=b;c", "unix:///x",
}

var regexes = []string{"", "(", "a|b", ".*", "(?i)x", "(?P<a>.)(?P<a>.)", "(?P<a-b>.)", "a{1001}", "\\d", "\\", "[[:word:]]", "(?=a)", "x*+", "${X}", "$1", "\\x24", "(?P<ts>x)", "(?P<level>.+)"}

var selectors = []string{"", "{}", `{a="b"}`, `{a="b"} |= "x"`, `{a="b"} | json`, `{a=b}`, `{a=~"("}`, `{a="b"} |~ "("`, `{a!="b"}`, `{a="b"} != "x" |= "y"`, `{a-b="c"}`, `rate({a="b"}[1m])`, `{a=~".*"}`, `{a=""}`}

var actions = []string{"", "replace", "Keep", "HASHMOD", "hashmod", "labelmap", "labeldrop", "labelkeep", "keepequal", "dropequal", "lowercase", "uppercase", "bogus", "drop", "inc", "dec", "add", "sub", "set", "skip", "fudge"}

// quantities are for amounts.
var quantities = []string{"", "0", "1", "-1", "1m", "0.1", "1.5", "100m", "1Gi", "1gb", "1e3", "9999999999Ti", "2Mi", "1n"}

// names are for names of objects.
var names = []string{"", "a", "A", "a.b", "a_b", "-a", "a-", "1", "a.b.", strings.Repeat("n", 63), strings.Repeat("n", 64), strings.Repeat("n", 254), "a/b"}

// kinds are the values for fields by what their names hold.
var kinds = []struct {
	part   string
	values []string
}{
	{"nterval", durations},
	{"imeout", durations},
	{"eriod", durations},
	{"requency", durations},
	{"Time", durations},
	{"uration", durations},
	{"Deadline", durations},
	{"Backoff", durations},
	{"Than", append([]string{"1KB", "1kb", "10MiB", "1.5MB", "8kB", "-1"}, durations...)},
	{"Wait", durations},
	{"url", urls},
	{"Url", urls},
	{"host", urls},
	{"uri", urls},
	{"egex", regexes},
	{"xpression", regexes},
	{"irstLine", regexes},
	{"selector", selectors},
	{"action", actions},
	{"Action", actions},
	{"type", []string{"counter", "Gauge", "HISTOGRAM", "bogus", "", "daemonset", "normal", "singleton", "unique", "Basic", "Bearer"}},
	{"buckets", []string{"1", "-1", "NaN", "+Inf", "1e400", "0x1", "1_0", "", "a", "1", "0"}},
	{"format", []string{"", "RFC3339", "Unix", "2006", "bogus", "json", "logfmt"}},
	{"location", []string{"", "UTC", "Europe/Berlin", "Local", "Nowhere/X"}},
	{"template", []string{"", "{{ .Value }}", "{{", "{{ bogus }}", "{{ .x | ToUpper }}", "{{ template \"x\" }}", "${X}"}},
	{"replace", []string{"", "{{ .Value }}", "{{", "$1", "{{ .x"}},
	{"scheme", []string{"", "http", "https", "HTTP", "ftp"}},
	{"metrics_instance", []string{"", "default", "x/y", "monitoring/primary"}},
	{"instance", []string{"", "a", "a/b", "../x", ".", "a//b", "${HOSTNAME}", "{x}", "a?b"}},
	{"cpu", quantities},
	{"memory", quantities},
	{"storage", quantities},
	{"size", quantities},
	{"divisor", quantities},
	{"esource", []string{"", "cpu", "memory", "storage", "limits.cpu", "requests.storage", "limits.hugepages-2Mi", "hugepages-3", "example.com/x", "a/b/c"}},
	{"operator", []string{"", "In", "NotIn", "Exists", "exists", "DoesNotExist", "Gt", "Lt", "Equal", "=="}},
	{"effect", []string{"", "NoSchedule", "noSchedule", "NoExecute", "PreferNoSchedule"}},
	{"olicy", []string{"", "Always", "IfNotPresent", "Never", "Ignore", "Honor", "Recursive", "Delete", "File", "None"}},
	{"fieldPath", []string{"", "metadata.name", "metadata.labels", "metadata.labels['a']", "metadata.labels['a b']", "status.podIP", "spec.containers", "metadata.annotations['A/b']"}},
	{"key", []string{"", "a", "a/b", "a/b/c", "a b", ".", "..", "..a", "example.com/a", "-a", strings.Repeat("k", 64), strings.Repeat("k", 254)}},
	{"ath", []string{"", "/", "a", "/a", "../a", "a/../b", "..a", "a:b", "/a/", "./a"}},
	{"erviceAccountName", names},
	{"lassName", names},
	{"laimName", names},
	{"driver", names},
	{"namespace", names},
	{"name", names},
	{"name", []string{"", "redis", "node_exporter", "agent", "statsd", "kafka", "mysql", "postgres", "a", "eventhandler"}},
}

// nasty is a text for a field.
func (m *mutator) nasty(field, now string) string {
	for _, k := range kinds {
		if strings.Contains(field, k.part) && m.random.IntN(3) != 0 {
			return m.pick(k.values)
		}
	}
	if m.random.IntN(5) == 0 {
		return now + m.pick(texts)
	}
	return m.pick(texts)
}

func (m *mutator) pick(from []string) string { return from[m.random.IntN(len(from))] }

func sorted(set map[string]bool) []string { return slices.Sorted(maps.Keys(set)) }
