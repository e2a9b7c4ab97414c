package main

import (
	"context"
	"io"
	"log/slog"
	"net"
	"os"
	"strings"
	"sync"

	"github.com/urfave/cli/v2"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/tools/cache"

	"github.com/agentry-dev/agentry/internal/httpserver"
	"github.com/agentry-dev/agentry/internal/kubeconfig"
	"github.com/agentry-dev/agentry/sd/kubelet"
)

const kubeletName = "kubelet-service"

const kubeletHelp = `{{.HelpName}} - {{.Usage}}

Usage:
  {{.HelpName}} --service NAMESPACE/NAME [options]

Options:{{range .VisibleFlags}}
  {{.}}{{end}}

Run several replicas: one leads, by a Lease beside the Service, and the others wait.

Example:
  sd-aggregator kubelet-service --service default/kubelet --kubeconfig ~/.kube/config
`

// kubeletSettings are the checked flags of the command.
type kubeletSettings struct {
	service                 cache.ObjectName
	adminListen, kubeconfig string
	logLevel                slog.Level
}

func kubeletFlags() []cli.Flag {
	all := []cli.Flag{
		&cli.StringFlag{Name: "service",
			Usage: "`NAMESPACE/NAME` of the Service and its Endpoints, like --kubelet-service of the Grafana Agent " +
				"Operator"},
		&cli.StringFlag{Name: "admin-listen", Value: ":8081",
			Usage: "`ADDRESS` for /healthz, /readyz and /metrics, without TLS"},
		&cli.StringFlag{Name: "kubeconfig",
			Usage: "kubeconfig `FILE` for the API server; default: as a pod of the cluster"},
		&cli.StringFlag{Name: "log-level", Value: "info", Usage: "`LEVEL` of the log: debug, info, warn, error"},
	}
	for _, f := range all {
		setEnv(f)
	}
	return all
}

func kubeletCommand(stderr io.Writer) *cli.Command {
	return &cli.Command{
		Name:               kubeletName,
		Usage:              "keep a headless Service with the addresses of all nodes' kubelets",
		CustomHelpTemplate: kubeletHelp,
		HideHelpCommand:    true,
		Flags:              kubeletFlags(),
		OnUsageError:       onUsageError,
		Action: func(c *cli.Context) error {
			if c.Args().Present() {
				return usagef("sd-aggregator kubelet-service --help",
					"kubelet-service takes no arguments, but was given %q", c.Args().First())
			}
			if ignored := c.Lineage()[1].LocalFlagNames(); len(ignored) > 0 {
				return usagef("put options after the command", "--%s is not an option of kubelet-service", ignored[0])
			}
			s, err := readKubeletSettings(c)
			if err != nil {
				return err
			}
			return keepKubeletService(c.Context, s, stderr)
		},
	}
}

func readKubeletSettings(c *cli.Context) (kubeletSettings, error) {
	s := kubeletSettings{adminListen: c.String("admin-listen"), kubeconfig: c.String("kubeconfig")}
	namespace, name, _ := strings.Cut(c.String("service"), "/")
	// The name of the Lease contains the name of the Service, which has stricter rules.
	if len(validation.IsDNS1123Label(namespace)) > 0 || len(validation.IsDNS1035Label(name)) > 0 {
		return s, usagef("write it like --service default/kubelet", "--service %q is not NAMESPACE/NAME",
			c.String("service"))
	}
	s.service = cache.ObjectName{Namespace: namespace, Name: name}
	var err error
	s.logLevel, err = parseLogLevel(c)
	return s, err
}

// keepKubeletService runs the command until ctx ends.
func keepKubeletService(ctx context.Context, s kubeletSettings, stderr io.Writer) error {
	log := slog.New(slog.NewTextHandler(stderr, &slog.HandlerOptions{Level: s.logLevel}))
	keeper, err := newKeeper(s, log)
	if err != nil {
		return usagef("use --kubeconfig outside a cluster", "cannot reach the API server: %v", err)
	}
	var config net.ListenConfig
	admin, err := config.Listen(ctx, "tcp", s.adminListen)
	if err != nil {
		return usagef("", "%v", err)
	}
	log.Info("started", "version", version(), "service", s.service.String(), "admin", admin.Addr())
	working, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel() // also if the listener fails
	running.Go(func() { keeper.Run(working) })
	err = httpserver.Serve(working, log, grace, httpserver.Listener{Listener: admin, Handler: keeper.AdminHandler()})
	log.Info("stopped")
	return err
}

func newKeeper(s kubeletSettings, log *slog.Logger) (*kubelet.Keeper, error) {
	config, err := kubeconfig.Load(s.kubeconfig)
	if err != nil {
		return nil, err
	}
	client, err := kubelet.NewClient(config, s.service.Namespace)
	if err != nil {
		return nil, err
	}
	host, err := os.Hostname()
	if err != nil {
		return nil, err
	}
	return kubelet.New(kubelet.Options{Client: client, Service: s.service, Identity: host, Log: log}), nil
}
