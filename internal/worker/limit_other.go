//go:build !linux

package worker

func limitMemory(int64) {}
