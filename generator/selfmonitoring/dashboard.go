package selfmonitoring

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
)

// JSON returns the dashboard of a GrafanaAgent for import into Grafana. Its uid depends only on the namespace and the
// name.
func (s *Dashboard) JSON(a Agent) (string, error) {
	sum := sha256.Sum256([]byte(a.Namespace + "/" + a.Name))
	board := map[string]any{
		"uid": "agentry-" + hex.EncodeToString(sum[:8]), "title": "Grafana Agent " + a.Namespace + "/" + a.Name,
		"description":   "The pods of a GrafanaAgent: what they scrape, read and send.",
		"tags":          []string{"agentry", "grafana-agent"},
		"schemaVersion": 39, "version": 1, "editable": true, "refresh": "1m", "timezone": "", "graphTooltip": 1,
		"time": map[string]string{"from": "now-6h", "to": "now"},
		"templating": map[string]any{"list": []any{
			map[string]any{"name": "datasource", "label": "Data source", "type": "datasource", "query": "prometheus",
				"current": map[string]any{}},
		}},
		"panels": a.panels(),
	}
	text, err := json.MarshalIndent(board, "", "  ")
	return string(text) + "\n", err
}

// panel is a panel of the dashboard.
type panel struct {
	of, title, description, unit string
	queries                      []query
}

// query is an expression with the legend of its series.
type query struct{ expr, legend string }

// row has the title and the panels of some pods.
type row struct {
	title  string
	panels []panel
}

func rows() []row {
	const perPod = "{{pod}}"
	return []row{
		{"Pods", []panel{
			{"all", "Pods that are scraped", "1: the pod answers. 0: it does not.", "short",
				[]query{{"min by (pod) (up{$SELECTOR})", perPod}}},
			{"all", "Newest configuration in use", "0: the pod refused it, and runs with the one before.", "short",
				[]query{{"min by (pod) ($LOADED{$SELECTOR})", perPod}}},
			{"all", "Memory", "What each process has in memory.", "bytes",
				[]query{{"sum by (pod) (process_resident_memory_bytes{$SELECTOR})", perPod}}},
			{"all", "CPU", "Cores that each process uses.", "short",
				[]query{{"sum by (pod) (rate(process_cpu_seconds_total{$SELECTOR}[$__rate_interval]))", perPod}}},
		}},
		{"Metrics", []panel{
			{"metrics", "Targets", "Targets of each pod, its share of the shards.", "short",
				[]query{{"sum by (pod) (prometheus_target_scrape_pool_targets{$SELECTOR})", perPod}}},
			{"metrics", "Samples", "Samples a second that each pod takes in.", "short",
				[]query{{"sum by (pod) (rate($APPENDED{$SELECTOR}[$__rate_interval]))", perPod}}},
			{"metrics", "Active series", "They decide how much memory a pod needs: more shards divide them.", "short",
				[]query{{"sum by (pod) ($SERIES{$SELECTOR})", perPod}}},
			{"metrics", "Refused scrapes", "Scrapes a second that went over a limit of their job.", "short", []query{
				{"sum by (pod) (rate(prometheus_target_scrapes_exceeded_sample_limit_total{$SELECTOR}[$__rate_interval]))", perPod + " samples"},
				{"sum by (pod) (rate(prometheus_target_scrapes_exceeded_body_size_limit_total{$SELECTOR}[$__rate_interval]))", perPod + " bytes"},
				{"sum by (pod) (rate(prometheus_target_scrape_pool_exceeded_label_limits_total{$SELECTOR}[$__rate_interval]))", perPod + " labels"},
			}},
			{"metrics", "Behind", "How old the newest sample is that a writer sent.", "s", []query{
				{"time() - prometheus_remote_storage_queue_highest_sent_timestamp_seconds{$SELECTOR}",
					perPod + " {{url}}"}}},
			{"metrics", "Sent samples", "Samples a second that each writer sends.", "short", []query{{
				"sum by (pod, url) (rate(prometheus_remote_storage_samples_total{$SELECTOR}[$__rate_interval])" +
					" - rate(prometheus_remote_storage_samples_retried_total{$SELECTOR}[$__rate_interval])" +
					" - rate(prometheus_remote_storage_samples_failed_total{$SELECTOR}[$__rate_interval]))",
				perPod + " {{url}}"}}},
			{"metrics", "Lost and repeated samples", "Refused samples are lost. Repeated ones are sent again.", "short",
				[]query{
					{"sum by (pod, url) (rate(prometheus_remote_storage_samples_failed_total{$SELECTOR}[$__rate_interval]))", perPod + " {{url}} lost"},
					{"sum by (pod, url) (rate(prometheus_remote_storage_samples_retried_total{$SELECTOR}[$__rate_interval]))", perPod + " {{url}} repeated"},
				}},
			{"metrics", "Connections of writers", "Parallel connections: at its maximum, a writer cannot send faster.",
				"short", []query{
					{"sum by (pod, url) (prometheus_remote_storage_shards{$SELECTOR})", perPod + " {{url}}"},
					{"max by (url) (prometheus_remote_storage_shards_max{$SELECTOR})", "maximum {{url}}"},
				}},
		}},
		{"Logs", []panel{
			{"logs", "Sent lines", "Log lines a second that each pod sends.", "short",
				[]query{{"sum by (pod) (rate($SENT{$SELECTOR}[$__rate_interval]))", perPod}}},
			{"logs", "Lost lines", "Log lines a second that an endpoint refused for good.", "short",
				[]query{{"sum by (pod) (rate($DROPPED{$SELECTOR}[$__rate_interval]))", perPod}}},
		}},
	}
}

// The size of panels, in the 24 columns of Grafana.
const width, height = 12, 8

// panels returns the rows and panels for existing workloads, each row below the previous one.
func (a Agent) panels() []any {
	var out []any
	y := 0
	add := func(p map[string]any, x, w, h int) {
		p["id"], p["gridPos"] = len(out)+1, map[string]int{"x": x, "y": y, "w": w, "h": h}
		out = append(out, p)
	}
	for _, r := range rows() {
		var list []map[string]any
		for _, p := range r.panels {
			if shown := a.panel(p); shown != nil {
				list = append(list, shown)
			}
		}
		if len(list) == 0 {
			continue
		}
		add(map[string]any{"type": "row", "title": r.title, "collapsed": false, "panels": []any{}}, 0, 2*width, 1)
		y++
		for i, p := range list {
			add(p, i%2*width, width, height)
			if i%2 == 1 || i == len(list)-1 {
				y += height
			}
		}
	}
	return out
}

// panel returns a panel without its position, or nil if there is nothing to show.
func (a Agent) panel(p panel) map[string]any {
	source := map[string]string{"type": "prometheus", "uid": "${datasource}"}
	var targets []any
	for i, q := range p.queries {
		if expr, ok := a.fill(q.expr, a.selector(p.of)); ok {
			targets = append(targets, map[string]any{"refId": string(rune('A' + i)), "expr": expr,
				"legendFormat": q.legend, "datasource": source})
		}
	}
	if len(targets) == 0 {
		return nil
	}
	return map[string]any{
		"type": "timeseries", "title": p.title, "description": p.description, "datasource": source, "targets": targets,
		"fieldConfig": map[string]any{"defaults": map[string]any{"unit": p.unit, "min": 0}, "overrides": []any{}},
		"options": map[string]any{"legend": map[string]any{"displayMode": "list", "placement": "bottom"},
			"tooltip": map[string]any{"mode": "multi", "sort": "desc"}},
	}
}
