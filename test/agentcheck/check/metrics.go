package check

import (
	"github.com/grafana/agent/static/metrics/instance"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
)

func (c *checker) metrics() {
	m := &c.cfg.Metrics
	for i := range m.Configs {
		if len(m.Configs[i].RemoteWrite) == 0 {
			c.warn(Destination, "metrics instance %s has no remote_write", m.Configs[i].Name)
		}
	}
	c.labelNames("metrics.global.external_labels", m.Global.Prometheus.ExternalLabels)
	if m.InstanceMode == instance.ModeShared {
		c.merge(m.Configs)
	}
}

// merge groups the instances as the agent does and validates every group as it does when a
// group is started: a group that fails there is tried again for ever, and the agent never
// becomes ready.
func (c *checker) merge(configs []instance.Config) {
	groups := instance.NewGroupManager(instance.MockManager{
		ApplyConfigFunc: func(group instance.Config) error {
			return group.ApplyDefaults(c.cfg.Metrics.Global)
		},
	})
	for _, one := range configs {
		if err := groups.ApplyConfig(one); err != nil {
			c.warn(Merged, "metrics instance %s, in its group: %v", one.Name, err)
		}
	}
}

// labelNames warns about names that a later reader refuses, together with the message that
// they stand in.
func (c *checker) labelNames(where string, set labels.Labels) {
	set.Range(func(l labels.Label) {
		c.labelName(where, l.Name)
	})
}

func (c *checker) labelName(where, name string) {
	if !model.LabelName(name).IsValid() {
		c.warn(LabelName, "%s: %q is not a valid label name", where, name)
	}
}
