package plan

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/generator/passthrough"
)

// loss counts the things that a commit removes. The objects of a removed unit do not count, because the unit does;
// objects that were passed through count.
type loss struct {
	units, workloads share
	objects          map[string]share // selected objects, by kind
	jobs             share            // scrape jobs
	emptied          string           // an instance that had several jobs and has none
}

// share is how many of a number of things are taken away.
type share struct{ gone, before int }

func (s share) add(other share) share { return share{s.gone + other.gone, s.before + other.before} }

// isAbove reports whether more than a percentage is gone, and at least two.
func (s share) isAbove(percent int) bool { return s.gone >= 2 && s.gone*100 > percent*s.before }

// lossOf counts the things that a unit on the branch loses.
func lossOf(u *Unit) (loss, error) {
	out := loss{units: share{before: 1}, objects: map[string]share{}}
	if err := u.folder.Load(); err != nil {
		return out, err
	}
	out.workloads.before = u.folder.Workloads(nil)
	isPassed := passthrough.IsUnit(u.Name)
	switch u.action {
	case remove:
		out.units.gone, out.workloads.gone = 1, out.workloads.before
		if !isPassed {
			return out, nil
		}
	case write:
		written := map[string]bool{}
		for _, f := range u.files() {
			written[f.Path] = true
		}
		out.workloads.gone = u.folder.Workloads(written)
	}
	for _, text := range u.folder.Inventory.Inputs {
		id, ok := manifest.ParseID(text)
		if !ok || !isSelected(id.Kind) && !isPassed || id.Kind == manifest.NamespaceKind {
			continue
		}
		n := share{before: 1}
		if u.action == remove || u.action == write && !u.uses(id) {
			n.gone = 1
		}
		out.objects[id.Kind] = out.objects[id.Kind].add(n)
	}
	for text, before := range u.folder.Inventory.Jobs {
		n := share{before: before}
		if id, ok := manifest.ParseID(text); ok && u.action == write {
			now := u.rendered.Jobs[id]
			n.gone = max(0, before-now)
			if now == 0 && before >= 2 {
				out.emptied = max(out.emptied, id.String())
			}
		}
		out.jobs = out.jobs.add(n)
	}
	return out, nil
}

// isSelected reports whether a kind is selected by another object. Secrets and ConfigMaps are only referred to.
func isSelected(kind string) bool {
	return !slices.Contains([]string{manifest.NamespaceKind, "GrafanaAgent", "Secret", "ConfigMap"}, kind)
}

func (l *loss) add(other loss) {
	l.units, l.workloads, l.jobs = l.units.add(other.units), l.workloads.add(other.workloads), l.jobs.add(other.jobs)
	if l.objects == nil {
		l.objects = map[string]share{}
	}
	for kind, n := range other.objects {
		l.objects[kind] = l.objects[kind].add(n)
	}
}

func (l *loss) allObjects() (all share) {
	for _, n := range l.objects {
		all = all.add(n)
	}
	return all
}

// isLarge reports whether the guard must look closer: two or more of something are gone.
func (l *loss) isLarge() bool {
	return max(l.units.gone, l.workloads.gone, l.jobs.gone, l.allObjects().gone) >= 2
}

// isTooMuch reports whether more than a percentage of the objects or of the jobs is gone.
func (l *loss) isTooMuch(percent int) bool {
	return l.allObjects().isAbove(percent) || l.jobs.isAbove(percent)
}

// String lists what is gone, such as "-65 ServiceMonitors, -130 jobs".
func (l *loss) String() string {
	return l.list(func(n share, what func(int) string) string { return fmt.Sprintf("-%d %s", n.gone, what(n.gone)) })
}

// shares lists the losses with the totals, such as "65 of 73 ServiceMonitors, 130 of 146 jobs".
func (l *loss) shares() string {
	return l.list(func(n share, what func(int) string) string {
		return fmt.Sprintf("%d of %d %s", n.gone, n.before, what(n.before))
	})
}

func (l *loss) list(format func(n share, what func(int) string) string) string {
	var out []string
	add := func(n share, one string) {
		if n.gone > 0 {
			out = append(out, format(n, func(n int) string { return plural(n, one) }))
		}
	}
	for _, kind := range slices.Sorted(maps.Keys(l.objects)) {
		add(l.objects[kind], kind)
	}
	add(l.jobs, "job")
	return strings.Join(out, ", ")
}

func plural(n int, one string) string {
	if n == 1 || strings.HasSuffix(one, "s") { // PodLogs
		return one
	}
	return one + "s"
}
