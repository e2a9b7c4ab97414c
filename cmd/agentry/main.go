// Command agentry renders Grafana Agent Operator custom resources without a cluster.
package main

import (
	"context"
	"io"
	"log"
	"os"
	"os/signal"
	"syscall"

	"github.com/KimMachineGun/automemlimit/memlimit"
	"github.com/go-logr/logr"
	"k8s.io/klog/v2"

	"github.com/agentry-dev/agentry/internal/cli"
	_ "github.com/agentry-dev/agentry/internal/garbage" // waits at the start
)

func main() {
	_, _ = memlimit.Set() // from the cgroup, unless GOMEMLIMIT is set; without either there is no limit
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the program at once
	env := cli.Env{Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, LookupEnv: os.LookupEnv}
	klog.SetLogger(logr.Discard()) // what client-go logs, it returns too
	log.SetOutput(io.Discard)      // of libraries; agentry logs with slog
	code := cli.Run(ctx, os.Args, env)
	stop()
	os.Exit(code)
}
