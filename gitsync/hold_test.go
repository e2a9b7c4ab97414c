package gitsync_test

import (
	"fmt"
	"strings"
	"testing"
)

func one(name, text string) map[string]string { return map[string]string{name: text} }

const webA, agentA = "in/a/web.yaml", "in/a/agent.yaml"

// asWeb is an input whose monitor of team a has a port.
func asWeb(port string) map[string]string { return one(webA, monitor("a", "web", port)) }

// heldWeb says that team a has a version of it.
func heldWeb(version, since int) []string {
	return []string{fmt.Sprintf("ServiceMonitor/a/web in a/agent: version %d since %d", version, since)}
}

// keptWeb says that team a stays as it was for it.
func keptWeb(since int) []string {
	return []string{fmt.Sprintf("ServiceMonitor/a/web in a/agent: no version since %d", since)}
}

func TestHoldInvalid(t *testing.T) {
	t.Parallel()
	tellAll(t, map[string][]step{
		"until it is right": {
			{edit: elsewhere(2, webA, badField("a", "web")), like: asWeb("http"), wrong: "invalid-field",
				held: heldWeb(1, 2)},
			{edit: elsewhere(3), like: asWeb("http"), wrong: "invalid-field", held: heldWeb(1, 2)},
			{edit: one(webA, monitor("a", "web", "fixed"))},
		},
		"until it is deleted": {
			{edit: elsewhere(2, webA, badField("a", "web")), like: asWeb("http"), wrong: "invalid-field",
				held: heldWeb(1, 2)},
			{edit: one(webA, "")},
		},
		"a new one is left out": {
			{edit: one("in/a/new.yaml", badField("a", "new")), wrong: "invalid-field",
				held: []string{"ServiceMonitor/a/new in : no version since 2"}},
			{edit: elsewhere(3), wrong: "invalid-field",
				held: []string{"ServiceMonitor/a/new in : no version since 3"}},
			{edit: elsewhere(4), wrong: "invalid-field",
				held: []string{"ServiceMonitor/a/new in : no version since 3"}},
			{edit: one("in/a/new.yaml", monitor("a", "new", "http"))},
		},
		"a document that can be read beats one that cannot": {
			{edit: one("in/a/new.yaml", badField("a", "web")), wrong: "invalid-field"},
		},
		"with a broken document behind a good one": {
			{edit: one(webA, monitor("a", "web", "new")+"---\n"+noYAML), wrong: "invalid-yaml"},
		},
		"an agent, and its unit moves on": {
			{edit: one(agentA, strings.Replace(agent("a"), "  metrics: {", "  metrics: 5 # {", 1)),
				like: one(agentA, agent("a")), wrong: "invalid-field",
				held: []string{"GrafanaAgent/a/agent in a/agent: version 1 since 2"}},
			{edit: one(webA, monitor("a", "web", "new")), like: one(agentA, agent("a")), wrong: "invalid-field",
				held: []string{"GrafanaAgent/a/agent in a/agent: version 1 since 3"}},
		},
	})
}

func TestHoldDuplicates(t *testing.T) {
	t.Parallel()
	const again, third = "in/a/again.yaml", "in/a/third.yaml"
	tellAll(t, map[string][]step{
		"the one counts that was there": {
			{edit: elsewhere(2, again, monitor("a", "web", "other")), like: one(again, ""), wrong: "duplicate-object",
				held: heldWeb(1, 2)},
			{edit: elsewhere(3), like: one(again, ""), wrong: "duplicate-object", held: heldWeb(1, 2)},
			{edit: one(webA, "")},
		},
		"both are new": {
			{edit: elsewhere(2, again, monitor("a", "new", "x"), third, monitor("a", "new", "z")),
				like:  map[string]string{again: "", third: ""},
				wrong: "duplicate-object duplicate-object",
				held:  []string{"ServiceMonitor/a/new in : no version since 2"}},
		},
		"both changed": {
			{edit: elsewhere(2, webA, monitor("a", "web", "x"), again, monitor("a", "web", "z")),
				like:  map[string]string{again: "", webA: monitor("a", "web", "http")},
				wrong: "duplicate-object duplicate-object", held: heldWeb(1, 2)},
		},
	})
}

func TestHoldHidden(t *testing.T) {
	t.Parallel()
	held := []string{"GrafanaAgent/a/agent in a/agent: version 1 since 2",
		"MetricsInstance/a/main in a/agent: version 1 since 2"}
	tellAll(t, map[string][]step{
		"a broken file is not a deletion": {
			{edit: elsewhere(2, webA, noYAML), like: asWeb("http"), wrong: "invalid-yaml", held: heldWeb(1, 2)},
			{edit: elsewhere(3), like: asWeb("http"), wrong: "invalid-yaml", held: heldWeb(1, 2)},
			{edit: one(webA, monitor("a", "other", "http"))},
		},
		"renamed and broken, and again": {
			{edit: elsewhere(2, webA, "", "in/a/1.yaml", noYAML), like: asWeb("http"), wrong: "invalid-yaml",
				held: heldWeb(1, 2)},
			{edit: elsewhere(3, "in/a/1.yaml", "", "in/a/2.yaml", noYAML), like: asWeb("http"), wrong: "invalid-yaml",
				held: heldWeb(1, 2)},
			{edit: elsewhere(4, "in/a/2.yaml", noYAML+noYAML), like: asWeb("http"), wrong: "invalid-yaml",
				held: heldWeb(1, 2)},
			{edit: elsewhere(5), like: asWeb("http"), wrong: "invalid-yaml", held: heldWeb(1, 2)},
			{edit: elsewhere(6, "in/a/2.yaml", monitor("a", "web", "moved"))},
		},
		"renamed and broken, and then gone": {
			{edit: elsewhere(2, webA, "", "in/a/1.yaml", noYAML), like: asWeb("http"), wrong: "invalid-yaml",
				held: heldWeb(1, 2)},
			{edit: one("in/a/1.yaml", "")},
		},
		"what is deleted beside a file that was broken before goes": {
			{edit: elsewhere(2, "in/c/x.yaml", noYAML), wrong: "invalid-yaml"},
			{edit: elsewhere(3, webA, ""), wrong: "invalid-yaml"},
		},
		"an agent, which may be deleted then": {
			{edit: elsewhere(2, agentA, noYAML), like: one(agentA, agent("a")), wrong: "invalid-yaml", held: held},
			{edit: one(webA, monitor("a", "web", "moves on")), like: one(agentA, agent("a")), wrong: "invalid-yaml",
				held: held},
			{edit: one(agentA, "")},
		},
		"an object that was invalid before": {
			{edit: elsewhere(2, webA, badField("a", "web")), like: asWeb("http"), wrong: "invalid-field",
				held: heldWeb(1, 2)},
			{edit: elsewhere(3, webA, "", "in/a/1.yaml", noYAML), like: asWeb("http"), wrong: "invalid-yaml",
				held: heldWeb(1, 2)},
			{edit: elsewhere(4, "in/a/1.yaml", badField("a", "web")), like: asWeb("http"), wrong: "invalid-field",
				held: heldWeb(1, 2)},
		},
		"an object without a name": {
			{edit: one(webA, strings.Replace(monitor("a", "web", "http"), "name: web", "name: We_b", 1)),
				like: asWeb("http"), wrong: "invalid-metadata", held: heldWeb(1, 2)},
		},
		"an object without a namespace": {
			{edit: one(webA, strings.Replace(monitor("a", "web", "http"), ", namespace: a", "", 1)),
				like: asWeb("http"), wrong: "missing-namespace", held: heldWeb(1, 2)},
		},
		"an object in another place": {
			{edit: elsewhere(2, webA, noYAML, "in/moved.yaml", monitor("a", "web", "moved")), wrong: "invalid-yaml"},
		},
	})
}

// TestHoldMissingPath takes a folder away that the pipeline names.
func TestHoldMissingPath(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.pipeline.Spec.Sources[0].Paths = []string{"in/a", "in/b"}
	held := []string{"GrafanaAgent/a/agent in a/agent: version 1 since 2",
		"MetricsInstance/a/main in a/agent: version 1 since 2", heldWeb(1, 2)[0]}
	all := map[string]string{agentA: agent("a"), webA: monitor("a", "web", "http")}
	runSteps(t, l,
		step{edit: elsewhere(2, agentA, "", webA, ""), like: all, wrong: "source-path-missing", held: held},
		step{edit: elsewhere(3), like: all, wrong: "source-path-missing", held: held},
		step{edit: elsewhere(4, agentA, agent("a"))},
	)
}

func TestHoldWrong(t *testing.T) {
	t.Parallel()
	const wrong = "timeout-above-interval"
	tellAll(t, map[string][]step{
		"through commits and other errors": {
			{edit: one(webA, bad("a")), like: asWeb("http"), wrong: wrong, held: heldWeb(1, 2)},
			{edit: elsewhere(3), like: asWeb("http"), wrong: wrong, held: heldWeb(1, 3)},
			{edit: elsewhere(4, webA, badField("a", "web")), like: asWeb("http"), wrong: "invalid-field",
				held: heldWeb(1, 3)},
			{edit: elsewhere(5, webA, noYAML), like: asWeb("http"), wrong: "invalid-yaml", held: heldWeb(1, 3)},
			{edit: elsewhere(6, webA, bad("a")), like: asWeb("http"), wrong: wrong, held: heldWeb(1, 3)},
			{edit: one(webA, monitor("a", "web", "fixed"))},
		},
		"a new one is left out": {
			{edit: elsewhere(2, "in/a/new.yaml", strings.Replace(bad("a"), "name: web", "name: new", 1)),
				like: one("in/a/new.yaml", ""), wrong: wrong,
				held: []string{"ServiceMonitor/a/new in a/agent: no version since 2"}},
			{edit: elsewhere(3), like: one("in/a/new.yaml", ""), wrong: wrong,
				held: []string{"ServiceMonitor/a/new in a/agent: no version since 2"}},
		},
		"while it moves": {
			{edit: elsewhere(2, webA, "", "in/moved.yaml", monitor("a", "web", "http"))},
			{edit: elsewhere(3, "in/moved.yaml", bad("a")), like: one("in/moved.yaml", monitor("a", "web", "http")),
				wrong: wrong, held: heldWeb(2, 3)},
			{edit: elsewhere(4, "in/moved.yaml", "", webA, bad("a")), like: asWeb("http"), wrong: wrong,
				held: heldWeb(2, 3)},
		},
		"one of a List": {
			{edit: one(webA, list(monitor("a", "web", "http"), monitor("a", "db", "sql")))},
			{edit: elsewhere(3, webA, list(bad("a"), monitor("a", "db", "new"))),
				like: one(webA, list(monitor("a", "web", "http"), monitor("a", "db", "new"))), wrong: wrong,
				held: heldWeb(2, 3)},
			{edit: elsewhere(4), like: one(webA, list(monitor("a", "web", "http"), monitor("a", "db", "new"))),
				wrong: wrong, held: heldWeb(2, 3)},
			{edit: elsewhere(5, webA, bad("a")), like: asWeb("http"), wrong: wrong, held: heldWeb(2, 3)},
		},
		"for the unit alone that it is wrong for": {
			{edit: elsewhere(2, "in/b/agent.yaml", curious("b"))},
			{edit: asSecured("p3"), likeIn: map[string]map[string]string{"b/agent": asWeb("http")},
				wrong: "secret-across-namespaces",
				held:  []string{"ServiceMonitor/a/web in b/agent: version 2 since 3"}},
			{edit: elsewhere(4, webA, monitorWithAuth("p4")),
				likeIn: map[string]map[string]string{"b/agent": asWeb("http")}, wrong: "secret-across-namespaces",
				held: []string{"ServiceMonitor/a/web in b/agent: version 2 since 3"}},
			{edit: elsewhere(5, webA, badField("a", "web")), like: asSecured("p4"),
				likeIn: map[string]map[string]string{"b/agent": asWeb("http")}, wrong: "invalid-field",
				held: []string{"ServiceMonitor/a/web in a/agent: version 4 since 5",
					"ServiceMonitor/a/web in b/agent: version 2 since 3"}},
			{edit: elsewhere(6, webA, noYAML), like: asSecured("p4"),
				likeIn: map[string]map[string]string{"b/agent": asWeb("http")}, wrong: "invalid-yaml",
				held: []string{"ServiceMonitor/a/web in a/agent: version 4 since 5",
					"ServiceMonitor/a/web in b/agent: version 2 since 3"}},
			{edit: elsewhere(7, webA, monitor("a", "web", "all"))},
		},
		"an agent that is deleted takes its unit along": {
			{edit: elsewhere(2, webA, bad("a")), like: asWeb("http"), wrong: wrong, held: heldWeb(1, 2)},
			{edit: elsewhere(3, agentA, "")},
		},
		"a paused unit stays": {
			{edit: one(agentA, paused("a")), like: one(agentA, agent("a"))},
			{edit: elsewhere(3, webA, bad("a")),
				like: map[string]string{agentA: agent("a"), webA: monitor("a", "web", "http")}},
			{edit: elsewhere(4, agentA, agent("a")), like: asWeb("http"), wrong: wrong,
				held: []string{"GrafanaAgent/a/agent in a/agent: no version since 4"}},
			{edit: one(webA, monitor("a", "web", "fixed"))},
		},
		"an immutable field": {
			{edit: elsewhere(2, agentA, withStorage("a"), webA, monitor("a", "web", "new")),
				like: one(agentA, agent("a")), wrong: "immutable-field",
				held: []string{"GrafanaAgent/a/agent in a/agent: version 1 since 2"}},
			{edit: elsewhere(3), like: one(agentA, agent("a")), wrong: "immutable-field",
				held: []string{"GrafanaAgent/a/agent in a/agent: version 1 since 2"}},
			{edit: one(agentA, agent("a"))},
		},
	})
}

// TestHoldWithoutBase loses the history of the input by a forced push.
func TestHoldWithoutBase(t *testing.T) {
	t.Parallel()
	const wrong = "timeout-above-interval"
	forget := (*lab).forget
	tellAll(t, map[string][]step{
		"the version is on the branch": {
			{edit: elsewhere(2, webA, bad("a")), like: asWeb("http"), wrong: wrong, held: heldWeb(1, 2)},
			{do: forget, edit: elsewhere(3), like: asWeb("http"), wrong: wrong, held: heldWeb(1, 2)},
			{edit: elsewhere(4, webA, badField("a", "web")), like: asWeb("http"), wrong: "invalid-field",
				held: heldWeb(1, 2)},
			{do: forget, edit: elsewhere(5, webA, noYAML), like: asWeb("http"), wrong: "invalid-yaml",
				held: heldWeb(1, 2)},
		},
		"the unit stays for an object that cannot be rendered": {
			{do: forget, edit: elsewhere(2, webA, bad("a"), agentA, logging("a")),
				likeIn: map[string]map[string]string{"a/agent": {agentA: agent("a"),
					webA: monitor("a", "web", "http")}}, wrong: wrong},
			{edit: one(webA, monitor("a", "web", "fixed"))},
		},
		"the unit stays for an invalid object": {
			{do: forget, edit: elsewhere(2, webA, badField("a", "web")), like: asWeb("http"), wrong: "invalid-field",
				held: keptWeb(2)},
			{edit: elsewhere(3), like: asWeb("http"), wrong: "invalid-field", held: keptWeb(2)},
			{edit: one(webA, monitor("a", "web", "fixed"))},
		},
		"the unit stays for what may be in a broken file": {
			{do: forget, edit: elsewhere(2, webA, noYAML), like: asWeb("http"), wrong: "invalid-yaml vanished-held",
				held: keptWeb(2)},
			{edit: one(webA, "")},
		},
		"the unit stays for an agent that may be in a broken file": {
			{do: forget, edit: elsewhere(2, agentA, noYAML), like: one(agentA, agent("a")),
				wrong: "invalid-yaml vanished-held",
				held: []string{"GrafanaAgent/a/agent in a/agent: no version since 2",
					"MetricsInstance/a/main in a/agent: no version since 2"}},
			{edit: one(agentA, agent("a"))},
		},
	})
}

// TestHoldConflicts adds agents that would own what others have.
func TestHoldConflicts(t *testing.T) {
	t.Parallel()
	sharded := strings.Replace(agent("a"), "{instanceSelector: {}}", "{instanceSelector: {}, shards: 2}", 1)
	rival := strings.ReplaceAll(agent("a"), "name: agent", "name: agent-shard-1")
	rival, _, _ = strings.Cut(rival, "---")
	const rivals = "in/a/rival.yaml"
	tellAll(t, map[string][]step{
		"who has it stays": {
			{edit: one(agentA, sharded)},
			{edit: elsewhere(3, rivals, rival), like: one(rivals, ""), wrong: "name-conflict"},
			{edit: elsewhere(4, rivals, "")},
		},
		"who has it stays, whatever the order of their names": {
			{edit: one(rivals, rival)},
			{edit: elsewhere(3, agentA, sharded), like: one(agentA, agent("a")), wrong: "name-conflict",
				held: []string{"GrafanaAgent/a/agent in a/agent: no version since 3"}},
		},
		"who has it and is paused stays": {
			{edit: one(agentA, sharded)},
			{edit: elsewhere(3, agentA, strings.Replace(sharded, "spec:\n  metrics", "spec:\n  paused: true\n  metrics",
				1), rivals, rival),
				like: map[string]string{agentA: sharded, rivals: ""}, wrong: "name-conflict"},
		},
	})
}

func paused(ns string) string {
	return strings.Replace(agent(ns), "spec:\n  metrics", "spec:\n  paused: true\n  metrics", 1)
}

func logging(ns string) string {
	return strings.Replace(agent(ns), "spec:\n  metrics", "spec:\n  logLevel: debug\n  metrics", 1)
}

func withStorage(ns string) string {
	return strings.Replace(agent(ns), "spec:\n  metrics",
		"spec:\n  storage: {volumeClaimTemplate: {spec: {resources: {requests: {storage: 1Gi}}}}}\n  metrics", 1)
}

// curious is an agent that looks for monitors in all namespaces.
func curious(ns string) string {
	return strings.Replace(agent(ns), "  remoteWrite", "  serviceMonitorNamespaceSelector: {}\n  remoteWrite", 1)
}

// monitorWithAuth is one that agents of other namespaces cannot scrape with.
func monitorWithAuth(port string) string {
	return strings.Replace(monitor("a", "web", port), "{port: ",
		"{basicAuth: {username: {name: s, key: u}, password: {name: s, key: p}}, port: ", 1)
}

func asSecured(port string) map[string]string { return one(webA, monitorWithAuth(port)) }

// list is a List of objects.
func list(objects ...string) string {
	var b strings.Builder
	b.WriteString("apiVersion: v1\nkind: List\nitems:\n")
	for _, text := range objects {
		b.WriteString("  - " + strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n    ") + "\n")
	}
	return b.String()
}

func TestDeselectedAgentGoes(t *testing.T) {
	t.Parallel()
	l := rendered(t)
	l.pipeline.Spec.Operator.AgentSelector = "stage=prod"
	l.pipeline.Spec.Limits.Deletions = "100%"
	l.input(map[string]string{"in/c/broken.yaml": "{"})
	sees(t, l.pass(), unitStates{"a/agent": "removed", "b/agent": "removed"})
}
