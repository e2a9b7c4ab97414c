package prometheus

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	alloycheck "github.com/agentry-dev/agentry/test/prometheus/alloy"
)

// promtailStages returns stages of loki.process in Promtail's words.
func promtailStages(blocks []*alloycheck.Block) (out []any) {
	for _, b := range blocks {
		name := strings.TrimPrefix(b.Name, "stage.")
		settings := any(map[string]any(b.Attrs))
		switch name {
		case "label_keep", "label_drop":
			name = map[string]string{"label_keep": "labelallow", "label_drop": "labeldrop"}[name]
			settings = b.Attrs["values"]
		case "labels", "static_labels", "structured_metadata":
			settings = b.Attrs["values"]
		case "match":
			if inner := promtailStages(b.Blocks); len(inner) > 0 {
				b.Attrs["stages"] = inner
			}
		case "metrics":
			settings = promtailMetrics(b.Blocks)
		}
		out = append(out, map[string]any{name: settings})
	}
	return out
}

func promtailMetrics(blocks []*alloycheck.Block) map[string]any {
	out := map[string]any{}
	for _, b := range blocks {
		one := map[string]any{"type": strings.TrimPrefix(b.Name, "metric.")}
		inner := map[string]any{}
		for name, v := range b.Attrs {
			switch name {
			case "name":
			case "description", "prefix", "source", "max_idle_duration":
				one[name] = v
			default:
				inner[name] = v
			}
		}
		one["config"] = inner
		out[b.Attrs["name"].(string)] = one
	}
	return out
}

// canonicalStages returns stages in one spelling, in which defaults are left out and those that do nothing are missing.
func canonicalStages(stages []any) (out []any) {
	for _, s := range stages {
		for name, settings := range s.(map[string]any) {
			name = strings.Replace(name, "non_indexed_labels", "structured_metadata", 1)
			if m, ok := settings.(map[string]any); ok && !strings.HasSuffix(name, "labels") &&
				name != "structured_metadata" && name != "metrics" {
				settings = canonicalSettings(m)
			}
			if name == "metrics" {
				for _, metric := range settings.(map[string]any) {
					canonicalMetric(metric.(map[string]any))
				}
			}
			out = append(out, map[string]any{name: settings})
		}
	}
	return out
}

func canonicalSettings(m map[string]any) map[string]any {
	out := map[string]any{}
	for name, v := range m {
		switch name {
		case "older_than", "max_wait_time":
			d, err := time.ParseDuration(v.(string))
			if err != nil || d <= 0 && name == "max_wait_time" || d == 0 {
				d = 1 // no time at all is not what Alloy takes
			}
			out[name] = d.String()
		case "longer_than":
			out[name] = bytesOf(v.(string))
		case "source":
			var all []string
			for _, s := range append(asList(v), v) {
				if text, ok := s.(string); ok {
					all = append(all, text)
				}
			}
			out[name] = strings.Join(all, ",")
		case "action_on_failure":
			if v != "fudge" { // the default
				out[name] = v
			}
		case "replace":
			if v != "" {
				out[name] = v
			}
		case "ingest_timestamp":
			if v == false { // true is the default
				out[name] = v
			}
		case "drop":
			if v == true {
				out[name] = v
			}
		case "max_lines":
			if n := v.(float64); n >= 0 && n < 1<<62 {
				out[name] = n
			}
		case "stages":
			if inner := canonicalStages(v.([]any)); len(inner) > 0 {
				out[name] = inner
			}
		default:
			out[name] = v
		}
	}
	return out
}

func canonicalMetric(m map[string]any) {
	m["type"] = strings.ToLower(m["type"].(string))
	if m["prefix"] == "promtail_custom_" || m["prefix"] == "" {
		delete(m, "prefix")
	}
	config, _ := m["config"].(map[string]any)
	if m["type"] == "histogram" {
		delete(config, "action") // it has one only
	}
	if m["type"] != "histogram" {
		config["action"] = strings.ToLower(fmt.Sprint(config["action"]))
		delete(config, "buckets") // ignored
	}
	if m["type"] != "counter" {
		delete(config, "match_all")
		delete(config, "count_entry_bytes")
	}
	if buckets := asList(config["buckets"]); len(buckets) == 0 {
		delete(config, "buckets")
	}
}

// bytesOf returns the number of a size like 8kb.
func bytesOf(size string) float64 {
	digits := strings.TrimRight(size, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ ")
	n, _ := strconv.ParseFloat(digits, 64)
	switch unit := strings.ToLower(strings.TrimSpace(size[len(digits):])); {
	case strings.HasPrefix(unit, "k"):
		return n * (1 << 10)
	case strings.HasPrefix(unit, "m"):
		return n * (1 << 20)
	case strings.HasPrefix(unit, "g"):
		return n * (1 << 30)
	}
	return n
}
