//go:build !race

package worker

const raceReserve = 0
