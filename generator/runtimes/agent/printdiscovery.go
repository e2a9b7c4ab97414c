package agent

import "github.com/agentry-dev/agentry/generator/model"

// discoveries writes a list for each mechanism.
func discoveries(w *writer, all []model.Discovery) {
	for i := range all {
		if d := &all[i]; i == 0 || d.Mechanism != all[i-1].Mechanism {
			if i > 0 {
				w.close()
			}
			if d.Mechanism == "static" {
				w.open("static_configs")
			} else {
				w.open(d.Mechanism + "_sd_configs")
			}
		}
		w.item()
		if w.newer {
			w.pairs(all[i].Settings)
		} else {
			w.pairs(known(&all[i]))
		}
		encodeClient(w, &all[i].HTTPClient)
		w.endItem()
	}
	if len(all) > 0 {
		w.close()
	}
}
