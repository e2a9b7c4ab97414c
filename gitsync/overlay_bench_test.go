package gitsync_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/agentry-dev/agentry/gitsync"
)

// Overlays, each of 20 resources, stand on a few bases.
const (
	overlayCount, baseCount = 1_000, 50
	perBase                 = 19
)

// overlayFiles are the overlays; plainFiles are the same objects as manifests.
func overlayFiles() (built, plain map[string]string) {
	built, plain = map[string]string{}, map[string]string{}
	bare := func(text string) string { return strings.ReplaceAll(text, ", namespace: x", "") }
	for i := range baseCount {
		dir := fmt.Sprintf("bases/b%02d/", i)
		list := "resources: [agent.yaml"
		built[dir+"agent.yaml"] = bare(agent("x"))
		for j := range perBase - 1 {
			list += fmt.Sprintf(", m%02d.yaml", j)
			built[fmt.Sprintf("%sm%02d.yaml", dir,
				j)] = bare(strings.Replace(monitor("x", fmt.Sprintf("m%02d", j), "http"), "namespace: x",
				"namespace: x", 1))
		}
		built[dir+"kustomization.yaml"] = list + "]\n"
	}
	for i := range overlayCount {
		built[fmt.Sprintf("in/o%04d/kustomization.yaml", i)] = overlay(i, 0)
		ns := fmt.Sprintf("team-%04d", i)
		plain[fmt.Sprintf("in/o%04d/agent.yaml", i)] = agent(ns)
		for j := range perBase - 1 {
			plain[fmt.Sprintf("in/o%04d/m%02d.yaml", i, j)] = monitor(ns, fmt.Sprintf("m%02d", j), "http")
		}
	}
	return built, plain
}

func overlay(i, round int) string {
	return fmt.Sprintf("resources: [../../bases/b%02d]\nnamespace: team-%04d\npatches:\n"+
		"- target: {kind: ServiceMonitor, name: m00}\n  patch: |\n"+
		"    - {op: replace, path: /spec/endpoints/0/port, value: p%d}\n",
		i%baseCount, i, round)
}

// BenchmarkOverlays is a pass after an edit of one of 1,000 overlays, against that of an equal edit of plain manifests.
func BenchmarkOverlays(b *testing.B) {
	built, plain := overlayFiles()
	labs := [2]*fleetLab{newFleetLab(b, 2), newFleetLab(b, 2)}
	var syncers [2]*gitsync.Syncer
	var cold [2]time.Duration
	for i, files := range []map[string]string{built, plain} {
		labs[i].input(files)
		labs[i].repo.Git("repack", "-adq")
		syncers[i] = labs[i].process("env")
		defer syncers[i].Close()
		start := time.Now()
		labs[i].renders(syncers[i])
		cold[i] = time.Since(start)
	}
	var own, other []time.Duration
	for round := 1; b.Loop(); round++ {
		i := round * 37 % overlayCount
		for side, edit := range []map[string]string{
			{fmt.Sprintf("in/o%04d/kustomization.yaml", i): overlay(i, round)},
			{fmt.Sprintf("in/o%04d/m00.yaml", i): monitor(fmt.Sprintf("team-%04d", i), "m00",
				fmt.Sprintf("p%d", round))},
		} {
			labs[side].input(edit)
			start := time.Now()
			labs[side].renders(syncers[side])
			if side == 0 {
				own = append(own, time.Since(start))
			} else {
				other = append(other, time.Since(start))
			}
		}
	}
	reportRatio(b, own, other, "plain")
	b.ReportMetric(cold[0].Seconds(), "cold-built-s")
	b.ReportMetric(cold[1].Seconds(), "cold-plain-s")
}
