//go:build race

package worker

// raceReserve is what the race detector needs besides.
const raceReserve = 192 << 20
