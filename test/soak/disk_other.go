//go:build !linux

package main

// smallDisk returns false: disks are only mounted on Linux.
func smallDisk(string, int) bool { return false }

func unmount(string) error { return nil }
