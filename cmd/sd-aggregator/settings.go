package main

import (
	"log/slog"
	"strings"
	"time"

	"github.com/urfave/cli/v2"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/agentry-dev/agentry/sd"
	"github.com/agentry-dev/agentry/sd/discover"
	"github.com/agentry-dev/agentry/sd/merge"
	"github.com/agentry-dev/agentry/sd/poll"
)

// settings are the checked flags.
type settings struct {
	listen, adminListen string
	namespaces          []string
	names               []discover.Name
	kubeconfig          string
	https               bool
	podCA, podCert      string
	podKey, podName     string
	tlsCert, tlsKey     string
	clientCA, tokenFile string
	peers               *sd.Peers
	logLevel            slog.Level
	options             sd.Options
}

func flags() []cli.Flag {
	limits := merge.DefaultLimits()
	all := []cli.Flag{
		&cli.StringFlag{Name: "listen", Value: ":8080", Usage: "`ADDRESS` for consumers and the page"},
		&cli.StringFlag{Name: "admin-listen", Value: ":8081",
			Usage: "`ADDRESS` for /healthz, /readyz and /metrics, without TLS"},
		&cli.StringSliceFlag{Name: "namespace",
			Usage: "`NAME` of a namespace with GrafanaAgents, repeatable; default: all namespaces"},
		&cli.StringSliceFlag{Name: "dns",
			Usage: "`NAMESPACE/AGENT=HOST:PORT` to find the pods of a GrafanaAgent by DNS instead, without rights in " +
				"the cluster; repeatable"},
		&cli.StringFlag{Name: "kubeconfig",
			Usage: "kubeconfig `FILE` for the API server; default: as a pod of the cluster"},
		&cli.DurationFlag{Name: "poll-interval", Value: sd.DefaultInterval, Usage: "`TIME` between two polls of a pod"},
		&cli.DurationFlag{Name: "pod-timeout", Value: sd.DefaultPodTimeout,
			Usage: "`TIME` that a pod has to answer"},
		&cli.StringFlag{Name: "pod-scheme", Value: "http", Usage: "`SCHEME` that pods speak: http or https"},
		&cli.StringFlag{Name: "pod-ca",
			Usage: "`FILE` with the authorities of the pods' certificates; default: the system's"},
		&cli.StringFlag{Name: "pod-cert", Usage: "`FILE` with the certificate to show to pods"},
		&cli.StringFlag{Name: "pod-key", Usage: "`FILE` with its key"},
		&cli.StringFlag{Name: "pod-server-name", Usage: "`NAME` in the pods' certificates; default: their address"},
		&cli.StringFlag{Name: "tls-cert", Usage: "`FILE` with the certificate for --listen"},
		&cli.StringFlag{Name: "tls-key", Usage: "`FILE` with its key"},
		&cli.StringFlag{Name: "client-ca",
			Usage: "`FILE` with the authorities of consumers' certificates, which makes them required"},
		&cli.StringFlag{Name: "bearer-token-file", Usage: "`FILE` with the token that consumers must send"},
		&cli.StringFlag{Name: "peers",
			Usage: "`HOST:PORT` of a headless Service of all replicas: a starting replica asks another one for the " +
				"last answers of pods that do not answer"},
		&cli.Int64Flag{Name: "max-pod-bytes", Value: sd.DefaultMaxPodBytes,
			Usage: "`BYTES` that an answer may have; a larger one is refused"},
		&cli.IntFlag{Name: "max-pod-groups", Value: limits.Groups,
			Usage: "`NUMBER` of groups that an answer may have; one with more is refused"},
		&cli.IntFlag{Name: "max-group-bytes", Value: limits.GroupBytes,
			Usage: "`BYTES` that a group may have; a larger one is dropped"},
		&cli.IntFlag{Name: "max-group-labels", Value: limits.LabelsPerGroup,
			Usage: "`NUMBER` of labels that a group may have; one with more is dropped"},
		&cli.IntFlag{Name: "max-label-bytes", Value: limits.ValueBytes,
			Usage: "`BYTES` that a label's value may have; a group with a larger one is dropped"},
		&cli.IntFlag{Name: "max-document-bytes", Value: sd.DefaultMaxDocumentBytes,
			Usage: "`BYTES` that the document may have; a pod's answer that does not fit in fails"},
		&cli.IntFlag{Name: "max-polls", Value: sd.DefaultWorkers,
			Usage: "`NUMBER` of polls at a time, not counting polls that take longer than a second"},
		&cli.StringFlag{Name: "log-level", Value: "info", Usage: "`LEVEL` of the log: debug, info, warn, error"},
	}
	for _, f := range all {
		setEnv(f)
	}
	return all
}

// setEnv gives a flag its environment variable.
func setEnv(f cli.Flag) {
	env := []string{"AGENTRY_SD_" + strings.ToUpper(strings.ReplaceAll(f.Names()[0], "-", "_"))}
	switch f := f.(type) {
	case *cli.StringFlag:
		f.EnvVars = env
	case *cli.StringSliceFlag:
		f.EnvVars = env
	case *cli.DurationFlag:
		f.EnvVars = env
	case *cli.IntFlag:
		f.EnvVars = env
	case *cli.Int64Flag:
		f.EnvVars = env
	}
}

func readSettings(c *cli.Context) (settings, error) {
	s := settings{
		listen: c.String("listen"), adminListen: c.String("admin-listen"), namespaces: c.StringSlice("namespace"),
		kubeconfig: c.String("kubeconfig"),
		podCA:      c.String("pod-ca"), podCert: c.String("pod-cert"), podKey: c.String("pod-key"),
		podName: c.String("pod-server-name"),
		tlsCert: c.String("tls-cert"), tlsKey: c.String("tls-key"), clientCA: c.String("client-ca"),
		tokenFile: c.String("bearer-token-file"),
		https:     c.String("pod-scheme") == "https",
	}
	s.options = sd.Options{
		Version: version(), Interval: c.Duration("poll-interval"), PodTimeout: c.Duration("pod-timeout"),
		Workers:     c.Int("max-polls"),
		MaxPodBytes: c.Int64("max-pod-bytes"), MaxDocumentBytes: c.Int("max-document-bytes"),
		Limits: merge.Limits{
			Groups: c.Int("max-pod-groups"), GroupBytes: c.Int("max-group-bytes"),
			LabelsPerGroup: c.Int("max-group-labels"),
			NameBytes:      merge.DefaultLimits().NameBytes, ValueBytes: c.Int("max-label-bytes"),
		},
	}
	for _, text := range c.StringSlice("dns") {
		name, err := discover.ParseName(text)
		if err != nil {
			return s, usagef("write it like --dns monitoring/agent=agent-integrations-sd.monitoring.svc:8080",
				"--dns: %v", err)
		}
		s.names = append(s.names, name)
	}
	if text := c.String("peers"); text != "" {
		peers, err := sd.ParsePeers(text)
		if err != nil {
			return s, usagef("write it like --peers sd-aggregator-peers.monitoring.svc:8080", "--peers: %v", err)
		}
		s.peers = &peers
	}
	var err error
	if s.logLevel, err = parseLogLevel(c); err != nil {
		return s, err
	}
	return s, s.check(c)
}

// check refuses flags that contradict each other.
func (s settings) check(c *cli.Context) error {
	for _, n := range s.namespaces {
		if problems := validation.IsDNS1123Label(n); len(problems) > 0 {
			return usagef("", "--namespace %q: %s", n, problems[0])
		}
	}
	for _, name := range []string{"max-pod-bytes", "max-pod-groups", "max-group-bytes", "max-group-labels",
		"max-label-bytes", "max-document-bytes"} {
		if c.Int64(name) <= 0 && c.Int(name) <= 0 {
			return usagef("", "--%s must be positive", name)
		}
	}
	podTLS := s.podCA != "" || s.podCert != "" || s.podKey != "" || s.podName != ""
	scheme := c.String("pod-scheme")
	switch {
	case scheme != "http" && scheme != "https":
		return unknownValue(c, "pod-scheme", "http", "https")
	case podTLS && !s.https:
		return usagef("add --pod-scheme https", "--pod-ca, --pod-cert, --pod-key and --pod-server-name need https")
	case (s.podCert == "") != (s.podKey == ""):
		return usagef("", "--pod-cert and --pod-key need each other")
	case (s.tlsCert == "") != (s.tlsKey == ""):
		return usagef("", "--tls-cert and --tls-key need each other")
	case s.clientCA != "" && s.tlsCert == "":
		return usagef("", "--client-ca needs --tls-cert and --tls-key")
	case len(s.names) > 0 && (len(s.namespaces) > 0 || s.kubeconfig != ""):
		return usagef("run two aggregators, or choose one", "--dns excludes --namespace and --kubeconfig")
	case s.options.Interval < time.Second:
		return usagef("", "--poll-interval must be at least 1s")
	case s.options.PodTimeout <= 0 || s.options.PodTimeout > s.options.Interval:
		return usagef("", "--pod-timeout must be positive and no longer than --poll-interval")
	case s.options.Workers < poll.MinWorkers:
		return usagef("", "--max-polls must be at least %d", poll.MinWorkers)
	}
	return nil
}
