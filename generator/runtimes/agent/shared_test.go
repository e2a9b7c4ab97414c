package agent

import (
	"testing"

	"github.com/agentry-dev/agentry/generator/model"
)

func TestSettings(t *testing.T) {
	global := model.Global{RemoteWrite: []model.RemoteWrite{{URL: "http://x"}}}
	grouped := func(a, b model.Instance) bool {
		return groups(&model.Metrics{Global: global, Configs: []model.Instance{a, b}})[1] == 0
	}
	plain := model.Instance{Name: "a"}
	for name, c := range map[string]struct {
		instance model.Instance
		equal    bool
	}{
		"another name": {model.Instance{Name: "b"}, true},
		"other jobs": {model.Instance{Name: "b", ScrapeConfigs: []*model.ScrapeConfig{{JobName: "x"}}},
			true},
		"defaults": {model.Instance{WALTruncateFrequency: "1h", MinWALTime: "300s", MaxWALTime: "4h0m",
			RemoteFlushDeadline: "60s"}, true},
		"the global list":      {model.Instance{RemoteWrite: []model.RemoteWrite{{URL: "http://x", Name: "n"}}}, true},
		"another remote write": {model.Instance{RemoteWrite: []model.RemoteWrite{{URL: "http://y"}}}, false},
		"another frequency":    {model.Instance{WALTruncateFrequency: "2h"}, false},
		"stale marks":          {model.Instance{WriteStaleOnShutdown: true}, false},
		"one more remote write": {model.Instance{RemoteWrite: []model.RemoteWrite{{URL: "http://x"},
			{URL: "http://y"}}}, false},
	} {
		if got := grouped(plain, c.instance); got != c.equal {
			t.Errorf("%s: equal is %t", name, got)
		}
	}
	x, y := model.RemoteWrite{URL: "http://x"}, model.RemoteWrite{URL: "http://y"}
	if !grouped(model.Instance{RemoteWrite: []model.RemoteWrite{x, y}},
		model.Instance{RemoteWrite: []model.RemoteWrite{y, x}}) {
		t.Error("the order of remote writes makes a difference")
	}
}
