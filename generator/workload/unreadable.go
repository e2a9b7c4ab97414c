package workload

import (
	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/generator/model"
)

// checkReadable reports a printed file that the program would refuse when it starts. The error is one of the objects
// whose parts of the configuration are unreadable alone, or of the GrafanaAgent if there are none.
func (out *output) checkReadable(c *model.Config, text []byte) {
	read := out.runtime().Read
	if read == nil {
		return
	}
	err := read(text)
	if err == nil {
		return
	}
	found := diag.UnreadableConfig.At("", "%s",
		"the rendered configuration would keep the pods from starting: "+err.Error()).
		WithHint("this is a mistake of agentry: report it, and until then remove the setting that is new or " +
			"unusual " +
			"here")
	wrong := map[diag.Object]bool{}
	parts := partsOf(c)
	if read(out.runtime().Print(&model.Config{Server: c.Server}).Bytes) != nil {
		parts = nil
	}
	for _, p := range parts {
		if !wrong[p.instance] && read(out.runtime().Print(&p.config).Bytes) != nil {
			wrong[p.from] = true
		}
	}
	isPlaced := false
	out.hierarchy.Objects(func(o *manifest.Object) bool {
		if wrong[o.Ref()] {
			out.diags, isPlaced = append(out.diags, o.Place(found)), true
		}
		return true
	})
	if !isPlaced {
		out.found(diag.List{found})
	}
}

// apart is a part of a configuration as one of its own: an instance without jobs, or with one of them.
type apart struct {
	config         model.Config
	from, instance diag.Object
}

// partsOf returns the instances of a configuration, each before its jobs.
func partsOf(c *model.Config) (out []apart) {
	if c.Metrics != nil {
		for _, i := range c.Metrics.Configs {
			add := func(from diag.Object, jobs ...*model.ScrapeConfig) {
				m, one := *c.Metrics, i
				one.ScrapeConfigs, one.Additional = jobs, nil
				m.Configs = []model.Instance{one}
				out = append(out, apart{model.Config{Metrics: &m}, from, i.Origin.Object})
			}
			add(i.Origin.Object)
			for _, j := range i.ScrapeConfigs {
				from := j.Origin.Object
				if j.HandWritten {
					from = i.Origin.Object
				}
				add(from, j)
			}
		}
	}
	if c.Logs != nil {
		for _, i := range c.Logs.Configs {
			add := func(from diag.Object, jobs ...*model.LogsScrapeConfig) {
				l, one := *c.Logs, i
				one.ScrapeConfigs, one.Additional = jobs, nil
				l.Configs = []model.LogsInstance{one}
				out = append(out, apart{model.Config{Logs: &l}, from, i.Origin.Object})
			}
			add(i.Origin.Object)
			for _, j := range i.ScrapeConfigs {
				add(j.Origin.Object, j)
			}
		}
	}
	return out
}
