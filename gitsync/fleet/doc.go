// Package fleet runs many pipelines for years: it decides when each of them makes a pass, isolates
// them from one another, and reports their state.
//
//	f := fleet.New(fleet.Options{CacheDir: dir, Version: version, Log: log})
//	f.Set(definitions, nil)       // again whenever the configuration changes
//	go f.Trigger(fleet.Trigger{Repository: "git.example.com/platform/monitoring", Reason: fleet.ReasonWebhook})
//	err := f.Run(ctx)             // until ctx ends
//
// # Rounds and passes
//
// A remote is a repository as one credential sees it. In a round of a remote, all refs that any
// pipeline reads or writes there are listed at once, and fetched if they moved. A pipeline makes a
// pass when one of its refs has moved since its last pass, when that pass failed, when the pipeline
// is new or changed, or when somebody asked for a pass. A pass builds on the last rounds and lists
// nothing itself. So an idle fleet costs one listing per remote and interval, and per pipeline a
// comparison of hashes.
//
// The first trigger starts a round at once, later ones at most one in [Options.MinGap]: all triggers
// in between become one more round, and one more pass.
//
// # What is isolated
//
// Passes of one pipeline never overlap, not even when its configuration changes. A remote that fails
// is asked again after a growing delay, and delays only pipelines that write there. A pass that
// fails is retried after a growing delay, or as soon as a ref moves. A panic ends one pass. A pass
// occupies a worker only while it reads and renders, never while it waits for the network. Few
// passes push to one remote at a time, so a slow remote does not delay the others. Slow passes get all
// workers but one, and a pass that does not stop when its time is over is left alone (places.go).
//
// If two definitions have the same name or write to the same place, the first one runs.
//
// # What is kept
//
// Nothing that matters: all state is in the repositories. If all pipelines together keep more than
// [Options.MemoryBytes] between passes, the least recently used ones are evicted first. The names of what
// they rendered stay longer, so that a search finds them.
//
// # Parts
//
// [Fleet] wires them. The configuration becomes entries (resolve.go); remotes list refs in rounds; a
// pipeline decides from its own state and a view of its remotes what it does next (schedule.go,
// rollout.go); a run is one pass; conditions are computed from their inputs; the notifier reports to
// observers; memory evicts.
package fleet
