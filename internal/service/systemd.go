package service

import (
	"context"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/agentry-dev/agentry/internal/pipelinefile"
)

// systemd notifies systemd of the service's state if a unit of Type=notify-reload started it: see sd_notify(3).
// Errors are ignored: the service works without it.
type systemd struct {
	socket string
	every  time.Duration // interval of signals to the watchdog; 0 if there is none
}

func newSystemd(getenv pipelinefile.Getenv) systemd {
	socket, _ := getenv("NOTIFY_SOCKET")
	limit, _ := getenv("WATCHDOG_USEC")
	pid, forPID := getenv("WATCHDOG_PID")
	micros, err := strconv.ParseInt(limit, 10, 64)
	if err != nil || forPID && pid != strconv.Itoa(os.Getpid()) {
		micros = 0
	}
	return systemd{socket: socket, every: time.Duration(micros) * time.Microsecond / 2}
}

// notify sends a state.
func (s systemd) notify(state string) {
	if s.socket == "" {
		return
	}
	name := s.socket
	if abstract, ok := strings.CutPrefix(name, "@"); ok {
		name = "\x00" + abstract
	}
	conn, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: name, Net: "unixgram"})
	if err != nil {
		return
	}
	defer conn.Close()
	_ = conn.SetWriteDeadline(time.Now().Add(time.Second))
	_, _ = conn.Write([]byte(state))
}

// reloading tells systemd that a reload has begun, with the time of the clock that systemd uses.
func (s systemd) reloading() {
	s.notify(fmt.Sprintf("RELOADING=1\nMONOTONIC_USEC=%d", monotonicMicros()))
}

// watchdog sends signals regularly as long as alive returns.
func (s systemd) watchdog(ctx context.Context, alive func()) {
	if s.socket == "" || s.every <= 0 {
		return
	}
	ticker := time.NewTicker(s.every)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			alive()
			s.notify("WATCHDOG=1")
		}
	}
}
