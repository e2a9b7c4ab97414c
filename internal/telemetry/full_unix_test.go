//go:build unix

package telemetry

import (
	"errors"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"testing"
)

// TestFullDisk forbids this process to write any byte for a moment, which acts like a full disk.
func TestFullDisk(t *testing.T) {
	file := filepath.Join(t.TempDir(), "agentry.prom")
	if err := os.WriteFile(file, []byte("as before\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	passes := NewPasses()
	passes.Observe(pass(holding(), false))
	var before syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &before); err != nil {
		t.Fatal(err)
	}
	signal.Ignore(syscall.SIGXFSZ)
	defer signal.Reset(syscall.SIGXFSZ)
	none := before
	none.Cur = 0
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &none); err != nil {
		t.Fatal(err)
	}
	failed := passes.WriteFile(file)
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &before); err != nil {
		t.Fatal(err)
	}
	if !errors.Is(failed, syscall.EFBIG) {
		t.Errorf("%v", failed)
	}
	data, err := os.ReadFile(file)
	if err != nil || string(data) != "as before\n" {
		t.Errorf("%q %v", data, err)
	}
	alone(t, file)
}
