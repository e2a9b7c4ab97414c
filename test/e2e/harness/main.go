// Package harness runs the end-to-end suites, each a package beside it: it builds real servers
// from the Go module proxy, once, and runs the suite with an etcd and an API server of its own,
// all in namespaces of the kernel's (test/isolate).
//
// In its network namespace a suite has fixed ports, nothing can be reached from outside, and
// every address of 10.0.0.0/8 is this host: the API server takes no loopback addresses in
// EndpointSlices. With its process namespace everything ends that the suite began, however it
// ends. There is no internet inside, so what a suite needs is built before.
package harness

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// Main runs the tests of a suite with the tools it needs, and ends the program. The suite gets
// its cluster before the first test.
func Main(m *testing.M, use func(*Cluster), tools ...Tool) {
	if os.Getenv(inside) != "" {
		os.Exit(run(m, use))
	}
	err := build(append([]Tool{isolated(), Etcd(), APIServer()}, tools...))
	if err == nil {
		err = again()
	}
	fmt.Fprintln(os.Stderr, "e2e:", err)
	os.Exit(1)
}

// Programs runs the tests of a suite that needs tools and no cluster, and ends the program.
func Programs(m *testing.M, tools ...Tool) {
	if err := build(tools); err != nil {
		fmt.Fprintln(os.Stderr, "e2e:", err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// inside is set in the environment of the suite that runs in the namespaces.
const inside = "AGENTRY_E2E_INSIDE"

// again runs this suite once more, in namespaces of its own, in place of this process.
func again() error {
	suite, err := os.Executable()
	if err != nil {
		return err
	}
	program := isolated().Path()
	arguments := append([]string{program, "-network", "-processes", suite}, os.Args[1:]...)
	return syscall.Exec(program, arguments, append(os.Environ(), inside+"=1"))
}

func run(m *testing.M, use func(*Cluster)) int {
	began := time.Now()
	dir, err := os.MkdirTemp("", "agentry-e2e-")
	if err != nil {
		fmt.Fprintln(os.Stderr, "e2e:", err)
		return 1
	}
	cluster, err := start(dir)
	if err != nil {
		fmt.Fprintln(os.Stderr, "e2e:", err)
		return 1
	}
	fmt.Printf("e2e: etcd and the API server are ready after %.1fs\n", time.Since(began).Seconds())
	use(cluster)
	code := m.Run()
	if code == 0 {
		code = cluster.remove()
	} else {
		cluster.explain()
		fmt.Println("e2e: all logs are in", dir)
	}
	fmt.Printf("e2e: the suite took %.0fs\n", time.Since(began).Seconds())
	return code
}

// Root is the folder of the repository, seen from a suite's.
func Root() string { return filepath.Join("..", "..", "..") }

// patience is how long anything may take on a machine that has other things to do.
const patience = 2 * time.Minute

// Eventually repeats a probe until it succeeds, and fails the test if it never does.
func Eventually(t *testing.T, what string, probe func() error) {
	t.Helper()
	if err := within(patience, probe); err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}

func within(limit time.Duration, probe func() error) error {
	deadline := time.Now().Add(limit)
	for {
		err := probe()
		if err == nil {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("after %s: %w", limit, err)
		}
		time.Sleep(50 * time.Millisecond)
	}
}
