package panics

import (
	"errors"
	"io"
	"log/slog"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestEachCallsAll(t *testing.T) {
	t.Parallel()
	for _, n := range []int{0, 1, 3, 1000} {
		var mu sync.Mutex
		called := map[int]int{}
		Each(n, func(i int) {
			mu.Lock()
			defer mu.Unlock()
			called[i]++
		})
		want := map[int]int{}
		for i := range n {
			want[i] = 1
		}
		if diff := cmp.Diff(want, called); diff != "" {
			t.Errorf("%d calls (-want +got):\n%s", n, diff)
		}
	}
}

func explode(secret string) { panic("the password is " + secret) }

// If Each did not recover, a worker's panic would end the test process.
func TestAPanicOfAWorkerIsThatOfItsCaller(t *testing.T) {
	t.Parallel()
	var log strings.Builder
	err := func() (err error) {
		defer Recover(slog.New(slog.NewTextHandler(&log, nil)), "test", "x", &err)
		Each(max(2, runtime.GOMAXPROCS(0)), func(i int) {
			if i == 1 {
				explode("hunter2")
			}
		})
		return nil
	}()
	got, ok := errors.AsType[*Error](err)
	if !ok || !Is(err) || got.Value != "string" {
		t.Fatalf("got %#v", err)
	}
	if !strings.Contains(got.Stack, "internal/panics.explode\n") || !strings.Contains(got.Stack, "panics_test.go:") {
		t.Errorf("the stack does not show who panicked:\n%s", got.Stack)
	}
	for _, text := range []string{log.String(), err.Error(), got.Stack} {
		if strings.Contains(text, "hunter2") || strings.Contains(text, "0x") {
			t.Errorf("shows a value: %s", text)
		}
	}
	if !strings.Contains(log.String(), "msg=panic during=test of=x value=string stack=") {
		t.Error(log.String())
	}
}

func TestAFaultOfTheRuntimeIsNamed(t *testing.T) {
	t.Parallel()
	err := func() (err error) {
		defer Recover(slog.New(slog.DiscardHandler), "test", "x", &err)
		list := []int{}
		_ = list[len(list)]
		return nil
	}()
	if got, _ := errors.AsType[*Error](err); got == nil ||
		got.Value != "runtime error: index out of range [0] with length 0" {
		t.Errorf("got %#v", err)
	}
}

func TestWithoutAPanicThereIsNoError(t *testing.T) {
	t.Parallel()
	err := func() (err error) {
		defer Recover(slog.New(slog.DiscardHandler), "test", "x", &err)
		return io.EOF
	}()
	if !errors.Is(err, io.EOF) || Is(err) {
		t.Errorf("got %v", err)
	}
}
