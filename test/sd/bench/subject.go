package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/agentry-dev/agentry/sd"
	"github.com/agentry-dev/agentry/test/sd/fakeapi"
)

// subject is a running aggregator.
type subject struct {
	process    *exec.Cmd
	folder     string
	sd, admin  string // URLs
	begun      time.Time
	drained    chan struct{}
	connection *http.Client
}

// start runs the program against an API server.
func start(b *bench, api *fakeapi.Server, args ...string) (*subject, error) {
	folder, err := os.MkdirTemp("", "sd-bench-")
	if err != nil {
		return nil, err
	}
	s := &subject{folder: folder, drained: make(chan struct{}),
		connection: &http.Client{Transport: &http.Transport{DisableCompression: true}}}
	kubeconfig := clientcmdapi.Config{
		Clusters:       map[string]*clientcmdapi.Cluster{"rig": {Server: api.Config().Host}},
		Contexts:       map[string]*clientcmdapi.Context{"rig": {Cluster: "rig"}},
		CurrentContext: "rig",
	}
	file := filepath.Join(folder, "kubeconfig")
	if err := clientcmd.WriteToFile(kubeconfig, file); err != nil {
		return nil, err
	}
	s.process = exec.Command(b.program, append([]string{
		"--kubeconfig", file, "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0", "--poll-interval",
		b.interval.String(),
	}, args...)...)
	log, err := s.process.StderrPipe()
	if err != nil {
		return nil, err
	}
	s.begun = time.Now()
	if err := s.process.Start(); err != nil {
		return nil, err
	}
	return s, s.readLog(log)
}

var listens = regexp.MustCompile(`listen=(\S+) admin=(\S+)`)

// readLog finds out where the program listens, and drops the rest.
func (s *subject) readLog(log io.Reader) error {
	lines := bufio.NewReader(log)
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			return errors.Join(fmt.Errorf("it ended: %s", line), s.stop())
		}
		if found := listens.FindStringSubmatch(line); found != nil {
			s.sd, s.admin = "http://"+found[1], "http://"+found[2]
			break
		}
	}
	go func() {
		defer close(s.drained)
		_, _ = io.Copy(io.Discard, lines)
	}()
	return nil
}

func (s *subject) stop() error {
	s.connection.CloseIdleConnections()
	_ = s.process.Process.Signal(syscall.SIGTERM)
	if s.sd != "" {
		<-s.drained
	}
	return errors.Join(s.process.Wait(), os.RemoveAll(s.folder))
}

// get requests a path and returns the status and the body, which it reads into the buffer.
func (s *subject) get(url string, into *bytes.Buffer, headers ...string) (int, error) {
	request, err := http.NewRequest(http.MethodGet, url, nil)
	if err != nil {
		return 0, err
	}
	for i := 0; i < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}
	response, err := s.connection.Do(request)
	if err != nil {
		return 0, err
	}
	defer response.Body.Close()
	into.Reset()
	_, err = into.ReadFrom(response.Body)
	return response.StatusCode, err
}

// targets counts the targets of a document, -1 if there is none yet.
func (s *subject) targets(query string) (int, error) {
	var body bytes.Buffer
	status, err := s.get(s.sd+sd.Path+query, &body)
	if err != nil || status != http.StatusOK {
		return -1, err
	}
	return bytes.Count(body.Bytes(), []byte(`{"targets":`)), nil
}

// status returns the report.
func (s *subject) status() (report sd.Report, err error) {
	var body bytes.Buffer
	if _, err := s.get(s.sd+"/status.json", &body); err != nil {
		return report, err
	}
	return report, json.Unmarshal(body.Bytes(), &report)
}

// metric reads one metric.
func (s *subject) metric(name string) float64 {
	var body bytes.Buffer
	if _, err := s.get(s.admin+"/metrics", &body); err != nil {
		return 0
	}
	for line := range strings.Lines(body.String()) {
		if rest, ok := strings.CutPrefix(line, name+" "); ok {
			value, _ := strconv.ParseFloat(strings.TrimSpace(rest), 64)
			return value
		}
	}
	return 0
}

func (s *subject) proc(file string) string {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/%s", s.process.Process.Pid, file))
	return string(text)
}

// cpu returns the CPU time used so far, in seconds.
func (s *subject) cpu() float64 {
	const ticks = 100 // USER_HZ, on all platforms that Go knows.
	_, rest, _ := strings.Cut(s.proc("stat"), ") ")
	fields := strings.Fields(rest)
	if len(fields) < 13 {
		return 0
	}
	user, _ := strconv.ParseFloat(fields[11], 64)
	system, _ := strconv.ParseFloat(fields[12], 64)
	return (user + system) / ticks
}

// memory returns the resident memory now and its peak, in bytes.
func (s *subject) memory() (now, peak float64) {
	read := func(key string) float64 {
		_, rest, _ := strings.Cut(s.proc("status"), key+":")
		fields := strings.Fields(rest)
		if len(fields) == 0 {
			return 0
		}
		kb, _ := strconv.ParseFloat(fields[0], 64)
		return kb * 1024
	}
	return read("VmRSS"), read("VmHWM")
}

func (s *subject) descriptors() int {
	open, _ := os.ReadDir(fmt.Sprintf("/proc/%d/fd", s.process.Process.Pid))
	return len(open)
}
