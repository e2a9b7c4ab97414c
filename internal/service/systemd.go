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

// systemd is who started the service with Type=notify-reload, if anybody did: see
// sd_notify(3). What goes wrong in telling it harms nobody but the telling.
type systemd struct {
	socket string
	every  time.Duration // of the watchdog; 0: it does not watch
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

// tell sends a state.
func (s systemd) tell(state string) {
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

// reloading says that a reload has begun, and when by the clock that systemd goes by.
func (s systemd) reloading() {
	s.tell(fmt.Sprintf("RELOADING=1\nMONOTONIC_USEC=%d", monotonicMicros()))
}

// watchdog says that all is well as long as alive returns.
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
			s.tell("WATCHDOG=1")
		}
	}
}
