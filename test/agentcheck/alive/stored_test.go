package alive

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// storesOnly holds every stored series to the labels of a target that should be collected,
// and every target to the metrics that tell its exporter.
func storesOnly(prometheus string, want []target) error {
	stored, err := series(prometheus)
	if err != nil {
		return err
	}
	metrics := make([]map[string]bool, len(want))
	for i := range metrics {
		metrics[i] = map[string]bool{}
	}
	for _, labels := range stored {
		i := slices.IndexFunc(want, func(w target) bool { return has(labels, w.Labels) })
		if i < 0 {
			return fmt.Errorf("not to be collected: %v", labels)
		}
		for name := range labels {
			if strings.HasPrefix(name, "__") && name != "__name__" && name != "__replica__" {
				return fmt.Errorf("internal label %s: %v", name, labels)
			}
		}
		metrics[i][labels["__name__"]] = true
	}
	for i, w := range want {
		// One that is there, and one that a rule of one monitor drops.
		there, dropped := "agent_build_info", "none"
		switch w.Labels["job"] {
		case "integrations/redis_exporter":
			there, dropped = "redis_up", "redis_exporter_build_info"
		case "integrations/memcached_exporter":
			there = "memcached_exporter_build_info"
		}
		if !metrics[i][there] || metrics[i][dropped] {
			return fmt.Errorf("%v: with %s, without %s, but there are %v", w.Labels, there, dropped,
				slices.Sorted(maps.Keys(metrics[i])))
		}
	}
	return nil
}

func has(all, some map[string]string) bool {
	for name, value := range some {
		if all[name] != value {
			return false
		}
	}
	return true
}
