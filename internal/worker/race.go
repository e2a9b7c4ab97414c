//go:build race

package worker

// raceReserve is what the race detector needs besides: it keeps several bytes for each byte of the heap.
const raceReserve = 512 << 20
