package alloyconfig

import (
	"maps"
	"reflect"
	"slices"
	"strings"
)

// settingOf has the fields of a job by the labels that targets have for them.
var settingOf = map[string]string{
	"job": "job_name", "__scrape_interval__": "scrape_interval", "__scrape_timeout__": "scrape_timeout",
	"__metrics_path__": "metrics_path", "__scheme__": "scheme",
}

// withoutPort matches an address to which Prometheus adds the port of the scheme.
const withoutPort = `([^:\[\]]+|\[[^\[\]]*\])`

// settings sets the fields of a job for which it has rules, and returns the other rules. Some rules do what Prometheus does
// before and after the rules of a job: the first give targets their labels for the job, and the last its port and parameters.
func settings(job map[string]any, rules []any) []any {
	known := map[string]bool{}
	for len(rules) > 0 {
		label, text, is := setting(rules[0].(map[string]any))
		if !is || known[label] {
			break
		}
		known[label] = true
		if parameter, isParameter := strings.CutPrefix(label, "__param_"); isParameter {
			params, _ := job["params"].(map[string]any)
			if params = maps.Clone(params); params == nil { // jobs share it
				params = map[string]any{}
			}
			job["params"] = params
			if params[parameter] == nil {
				params[parameter] = []any{text}
			}
		} else {
			job[settingOf[label]] = text
		}
		rules = rules[1:]
	}
	for len(rules) > 0 {
		rule := rules[len(rules)-1].(map[string]any)
		target, _ := rule["target_label"].(string)
		restores := known[target] && strings.HasPrefix(target, "__param_") && rule["source_labels"] != nil && isUnlessSet(rule)
		if !restores && !isPort(rule, job["scheme"]) {
			break
		}
		rules = rules[:len(rules)-1]
	}
	return rules
}

// setting returns the label that a rule gives to every target for a field of its job, and the text. It returns false if the rule does
// anything else.
func setting(rule map[string]any) (label, text string, is bool) {
	label, _ = rule["target_label"].(string)
	text, isText := rule["replacement"].(string)
	isField := settingOf[label] != "" || strings.HasPrefix(label, "__param_")
	return label, strings.ReplaceAll(text, "$$", "$"), isText && isField && isUnlessSet(rule)
}

// isPort reports whether a rule adds the port of the scheme to addresses without one, or drops what has neither.
func isPort(rule map[string]any, scheme any) bool {
	set := func(port string, regex string, sources ...any) map[string]any {
		return map[string]any{"source_labels": sources, "regex": regex, "target_label": "__address__", "replacement": "$1:" + port}
	}
	port := "80"
	if scheme == "https" {
		port = "443"
	}
	return slices.ContainsFunc([]map[string]any{
		set(port, withoutPort, "__address__"),
		set("80", "(?:http)?;"+withoutPort, "__scheme__", "__address__"),
		set("443", "https;"+withoutPort, "__scheme__", "__address__"),
		{"source_labels": []any{"__address__"}, "regex": withoutPort, "action": "drop"},
	}, func(known map[string]any) bool { return reflect.DeepEqual(known, rule) })
}

// isUnlessSet reports whether a rule sets its label to a text, whatever other labels are: always, or if it is not set.
func isUnlessSet(rule map[string]any) bool {
	if rule["action"] != nil {
		return false
	}
	sources, _ := rule["source_labels"].([]any)
	return len(sources) == 0 && rule["regex"] == nil || len(sources) == 1 && sources[0] == rule["target_label"] && rule["regex"] == ""
}
