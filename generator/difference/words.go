package difference

import (
	"strconv"
	"strings"
)

// globalSettings is the subject of changes that affect all instances.
const globalSettings = "all instances"

// parts returns the named parts along a path in words, and the rest of the path: "instance a/b", "job c", "relabel
// rule 3", and the rest "regex".
func (p Path) parts() (parts []string, rest string) {
	var fields []string
	for i, step := range p {
		if !step.IsItem {
			fields = append(fields, step.Field)
			continue
		}
		above := ""
		if len(fields) > 1 {
			above = fields[len(fields)-2]
		}
		thing := "item"
		if len(fields) > 0 {
			thing = noun(fields[len(fields)-1], above)
		}
		switch {
		case step.Name != "":
			thing += " " + step.Name
		case i > 0 && strings.HasSuffix(p[i-1].Field, "_sd_configs") && step.Old <= 0 && step.New <= 0:
		default:
			thing += " " + strconv.Itoa(step.place()+1)
		}
		parts, fields = append(parts, thing), nil
	}
	if len(parts) == 0 && len(fields) > 0 && isConfiguration(fields[0]) {
		key := fields[0]
		switch fields = fields[1:]; {
		case len(fields) == 0:
			fields = []string{"configuration " + key}
		case len(fields) > 1 && fields[0] == "metrics" && fields[1] == "global":
			parts, fields = []string{globalSettings}, fields[2:]
		}
	}
	return parts, strings.Join(fields, ".")
}

// place returns the index of an item after the change, or before it if the item is removed.
func (s Step) place() int {
	if s.New < 0 {
		return s.Old
	}
	return s.New
}

// subject returns the named parts of a path in one text.
func (p Path) subject() string {
	parts, _ := p.parts()
	return strings.Join(parts, within)
}

// words returns the path in words.
func (p Path) words() string {
	parts, rest := p.parts()
	if rest != "" {
		parts = append(parts, rest)
	}
	return strings.Join(parts, within)
}

// within separates a part from the one that contains it.
const within = " > "

// nouns returns the nouns for items of lists, by the field with the list.
func nouns() map[string]string {
	return map[string]string{
		"scrape_configs": "job", "remote_write": "writer", "clients": "client",
		"relabel_configs": "relabel rule", "metric_relabel_configs": "metric relabel rule",
		"write_relabel_configs": "write relabel rule",
		"pipeline_stages":       "stage", "stages": "stage", "static_configs": "static targets",
		"containers": "container", "initContainers": "init container", "volumes": "volume", "volumeMounts": "mount",
		"env":   "variable",
		"ports": "port", "sources": "source", "volumeClaimTemplates": "volume claim template",
		"tolerations": "toleration",
		"args":        "argument", components: "component", "imagePullSecrets": "image pull secret",
		"rule": "rule", "write_relabel_config": "write relabel rule",
	}
}

// noun returns the noun for an item of a list. above is the field that contains the list's field.
func noun(field, above string) string {
	switch {
	case field == "configs" && above == "logs":
		return "logs instance"
	case field == "configs":
		return "instance"
	case strings.HasSuffix(field, "_sd_configs"):
		return strings.TrimSuffix(field, "_sd_configs") + " discovery"
	case strings.HasSuffix(field, "_configs") && above == "integrations":
		return "integration " + strings.TrimSuffix(field, "_configs")
	}
	if known := nouns()[field]; known != "" {
		return known
	}
	return field
}
