package difference

import (
	"strconv"
	"strings"
)

// globalSettings are the settings of all instances.
const globalSettings = "all instances"

// things returns what a path leads through, as people call it, and the rest of it: instance a/b, job c, relabel rule 3,
// and regex.
func (p Path) things() (things []string, rest string) {
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
		things, fields = append(things, thing), nil
	}
	if len(things) == 0 && len(fields) > 0 && languageOf(fields[0]) != nil {
		switch fields = fields[1:]; {
		case len(fields) == 0:
			fields = []string{"configuration"}
		case len(fields) > 1 && fields[0] == "metrics" && fields[1] == "global":
			things, fields = []string{globalSettings}, fields[2:]
		}
	}
	return things, strings.Join(fields, ".")
}

// place returns the place of an item: the one after the change, if it has one.
func (s Step) place() int {
	if s.New < 0 {
		return s.Old
	}
	return s.New
}

// subject returns what a path leads to in one text.
func (p Path) subject() string {
	things, _ := p.things()
	return strings.Join(things, within)
}

// words returns the path as a text.
func (p Path) words() string {
	things, rest := p.things()
	if rest != "" {
		things = append(things, rest)
	}
	return strings.Join(things, within)
}

// within stands between a thing and a part of it.
const within = " > "

// nouns returns what items of lists are called, by the field that holds them.
func nouns() map[string]string {
	return map[string]string{
		"scrape_configs": "job", "remote_write": "writer", "clients": "client",
		"relabel_configs": "relabel rule", "metric_relabel_configs": "metric relabel rule", "write_relabel_configs": "write relabel rule",
		"pipeline_stages": "stage", "stages": "stage", "static_configs": "static targets",
		"containers": "container", "initContainers": "init container", "volumes": "volume", "volumeMounts": "mount", "env": "variable",
		"ports": "port", "sources": "source", "volumeClaimTemplates": "volume claim template", "tolerations": "toleration",
		"args": "argument", "imagePullSecrets": "image pull secret",
	}
}

// noun returns what an item of a list is called; above is the field that holds the list's.
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
