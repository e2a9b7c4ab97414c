// Package fleet runs many pipelines for years: it decides when each of them makes a pass,
// keeps them from harming one another, and says how they are.
//
//	f := fleet.New(fleet.Options{CacheDir: dir, Version: version, Log: log})
//	f.Set(definitions, nil)       // again whenever the configuration changes
//	go f.Trigger(fleet.Trigger{Repository: "git.example.com/platform/monitoring", Reason: fleet.ReasonWebhook})
//	err := f.Run(ctx)             // until ctx ends
//
// # Rounds and passes
//
// A remote is a repository as one credential sees it. Each remote has rounds: all refs that
// any pipeline reads or writes there are listed, and fetched if they moved, in one go. A
// pipeline makes a pass when a ref of its own has moved since its last one, when that one
// failed, when it is new or changed, or when somebody asked for it; a pass builds on what the
// last rounds have listed and asks nobody again. So an idle fleet costs one listing per
// remote and interval, and nothing per pipeline but a comparison of hashes.
//
// The first trigger acts at once, further ones at most once in [Options.MinGap]; what comes
// in between becomes one more round, and one more pass.
//
// # What is kept apart
//
// Passes of one pipeline never overlap, not even over a change of its configuration. A
// remote that fails is asked again after a growing while, and holds up only those that
// cannot do without it: who writes there. A pass that fails is made again after a growing
// while, or at once when a ref moves. A panic ends one pass. A pass holds a worker only while
// it reads and renders, never while it waits for the network; a slow remote has few pushes at
// once, and others their own.
//
// Two definitions that would write to one place, or of one name: the first runs.
//
// # What is kept
//
// Nothing that matters: all state is in the repositories. Pipelines that have rested longest
// forget what they keep between passes when all together keep more than
// [Options.MemoryBytes].
package fleet
