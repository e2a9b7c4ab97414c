package cli

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/urfave/cli/v2"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/internal/cli/command"
	"github.com/agentry-dev/agentry/internal/server"
	"github.com/agentry-dev/agentry/internal/service"
)

// The default addresses of the service.
const (
	defaultListen      = ":9292"
	defaultAdminListen = "127.0.0.1:9393"
)

func serveCommand(env Env) command.Command {
	return command.Command{
		Name:  "serve",
		Usage: "run pipelines as a service: poll, take webhooks, show their state",
		Description: `The pipeline file, or each .yaml and .yml file of a folder, is read again when it changes; a
file with an error keeps what ran before. SIGHUP reads all of them and makes a pass of
each pipeline; SIGTERM ends the passes under way and stops.

--listen takes webhooks and, with --delivery-token-file, reports of Flux and Argo CD about what they
apply. --admin-listen has the page, the API, metrics and health, and needs --bearer-token-file or
--oidc-issuer if it is not on loopback. docs/serve.md describes it, docs/delivery.md the reports and
docs/webhooks.md the webhooks.`,
		Example: "agentry serve -f pipeline.yaml",
		Flags: slices.Concat([]cli.Flag{
			&cli.StringFlag{Name: "file", Aliases: []string{"f"}, Usage: "the pipeline `FILE`, or a folder of them"},
			&cli.StringFlag{Name: "listen", Value: defaultListen, Usage: "`ADDRESS` for webhooks, or the word off"},
			&cli.StringFlag{Name: "tls-cert", Usage: "`FILE` with the certificate for --listen; it may change"},
			&cli.StringFlag{Name: "tls-key", Usage: "`FILE` with its key"},
			&cli.StringFlag{Name: "admin-listen", Value: defaultAdminListen,
				Usage: "`ADDRESS` for the page, API and metrics"},
			&cli.StringFlag{Name: "bearer-token-file",
				Usage: "`FILE` with the token that --admin-listen asks for; it may change"},
			&cli.StringFlag{Name: "read-token-file",
				Usage: "`FILE` with another token, which only reads; it may change"},
			&cli.StringFlag{Name: "delivery-token-file",
				Usage: "`FILE` with the token for reports of clusters; it may change"},
			&cli.IntFlag{Name: "workers", DefaultText: "the number of CPUs",
				Usage: "`NUMBER` of passes that render at once"},
			&cli.StringFlag{Name: "log-format", Value: "text", Usage: "`FORMAT` of the log on stderr: text or json"},
			&cli.StringFlag{Name: "log-level", Value: "info", Usage: "`LEVEL` of the log: debug, info, warn, error"},
		}, command.Rare(
			&cli.StringFlag{Name: "cache-dir",
				Usage: "keep fetched repositories in `DIR` (default: agentry in the user's cache folder)"},
			&cli.StringFlag{Name: "max-webhook-size",
				Usage: "`SIZE` of a webhook's body, such as 4Mi (default: 1Mi, of GitHub 25Mi)"},
			&cli.StringFlag{Name: "admin-tls-cert",
				Usage: "`FILE` with the certificate for --admin-listen; it may change"},
			&cli.StringFlag{Name: "admin-tls-key", Usage: "`FILE` with its key"},
			&cli.StringFlag{Name: "memory", Usage: "`SIZE` of all that pipelines keep in memory between passes " +
				"(default: a quarter of the memory, at least 256Mi)"},
			&cli.Float64Flag{Name: "interval-jitter", Value: 0.05,
				Usage: "`SHARE` by which intervals vary at random, such as 0.1"},
			&cli.DurationFlag{Name: "shutdown-grace", Value: 20 * time.Second,
				Usage: "`TIME` that running passes get to end at SIGTERM"},
			&cli.StringFlag{Name: "replicas-namespace",
				Usage: "be active only while holding a Lease in this `NAMESPACE` of a Kubernetes cluster: for " +
					"replicas"},
			&cli.StringFlag{Name: "replicas-name", Value: "agentry",
				Usage: "`NAME` of the Lease that the replicas share"},
			&cli.StringFlag{Name: "identity",
				Usage: "`NAME` of this replica, different from all others' (default: POD_NAME, or the host's name)"},
			&cli.StringFlag{Name: "kubeconfig",
				Usage: "kubeconfig `FILE` of the cluster (default: the one that the pod runs in)"},
		), command.Rare(loginFlags()...)),
		Run: func(ctx context.Context, flags *cli.Context, _ []string) error {
			return serve(ctx, env, flags)
		},
	}
}

func serve(ctx context.Context, env Env, flags *cli.Context) error {
	options, err := serveOptions(env, flags)
	if err != nil {
		return err
	}
	reload, stop := onHangup(ctx)
	defer stop()
	options.Reload = reload
	err = service.Run(ctx, options)
	if wrong, ok := errors.AsType[*service.ConfigurationError](err); ok && len(wrong.Problems) > 0 {
		return env.configuration(wrong.Problems)
	}
	return err
}

// onHangup returns a channel that receives after SIGHUP. Several signals in a row can be received as one.
func onHangup(ctx context.Context) (reload <-chan struct{}, stop func()) {
	signals, out := make(chan os.Signal, 1), make(chan struct{})
	signal.Notify(signals, syscall.SIGHUP)
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		for {
			select {
			case <-ctx.Done():
				return
			case <-signals:
			}
			select {
			case <-ctx.Done():
				return
			case out <- struct{}{}:
			}
		}
	}()
	return out, func() {
		signal.Stop(signals)
		cancel()
	}
}

func serveOptions(env Env, flags *cli.Context) (service.Options, error) {
	o := service.Options{
		Path: flags.String("file"), Getenv: env.LookupEnv, Version: buildVersion(),
		Workers: flags.Int("workers"), Jitter: flags.Float64("interval-jitter"),
		Grace: flags.Duration("shutdown-grace"),
		Listen: service.Address{Address: flags.String("listen"), CertFile: flags.String("tls-cert"),
			KeyFile: flags.String("tls-key")},
		AdminListen: service.Address{Address: flags.String("admin-listen"), CertFile: flags.String("admin-tls-cert"),
			KeyFile: flags.String("admin-tls-key")},
		TokenFile: flags.String("bearer-token-file"), ReadTokenFile: flags.String("read-token-file"),
		DeliveryTokenFile: flags.String("delivery-token-file"),
		Replicas: service.Replicas{
			Namespace: flags.String("replicas-namespace"), Name: flags.String("replicas-name"),
			Identity: flags.String("identity"), Kubeconfig: flags.String("kubeconfig"),
		},
	}
	if o.Listen.Address == "off" {
		o.Listen = service.Address{}
	}
	if o.Path == "" {
		return o, command.Usagef("agentry serve -f pipeline.yaml", "no pipeline file or folder is given")
	}
	var err error
	if o.Login, err = loginOf(flags); err != nil {
		return o, err
	}
	if err := checkServe(&o); err != nil {
		return o, err
	}
	if o.MemoryBytes, err = sizeFlag(flags, "memory"); err != nil {
		return o, err
	}
	if o.MaxWebhookBytes, err = sizeFlag(flags, "max-webhook-size"); err != nil {
		return o, err
	}
	if o.Log, err = logger(env, flags); err != nil {
		return o, err
	}
	o.CacheDir, err = cacheDir(flags.String("cache-dir"))
	return o, err
}

// isAddress reports whether a text is HOST:PORT. The host may be empty.
func isAddress(text string) bool {
	_, port, err := net.SplitHostPort(text)
	return err == nil && port != ""
}

// checkServe refuses flags that contradict each other. For flags where 0 means off and the service reads 0 as
// its default, it sets a negative value.
func checkServe(o *service.Options) error {
	switch {
	case o.Listen.Address != "" && !isAddress(o.Listen.Address):
		return command.Usagef("write HOST:PORT, such as "+defaultListen+", or off", "--listen %s is not an address",
			o.Listen.Address)
	case !isAddress(o.AdminListen.Address):
		return command.Usagef("write HOST:PORT, such as "+defaultAdminListen+"; it cannot be off, because health is "+
			"asked for there", "--admin-listen %s is not an address", o.AdminListen.Address)
	case (o.Listen.CertFile == "") != (o.Listen.KeyFile == ""):
		return command.Usagef("", "--tls-cert and --tls-key need each other")
	case (o.AdminListen.CertFile == "") != (o.AdminListen.KeyFile == ""):
		return command.Usagef("", "--admin-tls-cert and --admin-tls-key need each other")
	case !server.IsLoopback(o.AdminListen.Address) && o.TokenFile == "" && o.Login.Issuer == "":
		return command.Usagef("add --bearer-token-file or --oidc-issuer, or listen on "+defaultAdminListen,
			"--admin-listen %s can be reached from elsewhere, where anybody could trigger passes and see the pipelines",
			o.AdminListen.Address)
	case o.ReadTokenFile != "" && o.TokenFile == "" && o.Login.Issuer == "":
		return command.Usagef("add --bearer-token-file, or leave it out: on loopback everybody may read and act",
			"--read-token-file is of use with --bearer-token-file or --oidc-issuer only")
	case o.DeliveryTokenFile != "" && o.Listen.Address == "":
		return command.Usagef("set --listen", "--delivery-token-file is of use with --listen only")
	case o.Replicas.Namespace == "" && (o.Replicas.Identity != "" || o.Replicas.Kubeconfig != ""):
		return command.Usagef("", "--identity and --kubeconfig are of use with --replicas-namespace only")
	case o.Workers < 0:
		return command.Usagef("", "--workers must not be negative")
	case o.Jitter < 0 || o.Jitter >= 1:
		return command.Usagef("", "--interval-jitter must be at least 0 and less than 1")
	case o.Grace < 0:
		return command.Usagef("", "--shutdown-grace must not be negative")
	}
	if o.Jitter == 0 {
		o.Jitter = -1
	}
	o.Grace = max(o.Grace, 1)
	return nil
}

// sizeFlag parses a number of bytes such as 256Mi. It returns 0 if the flag is not set.
func sizeFlag(flags *cli.Context, name string) (int64, error) {
	text := flags.String(name)
	if text == "" {
		return 0, nil
	}
	size, err := resource.ParseQuantity(text)
	if err != nil || size.Sign() <= 0 || size.Value() <= 0 {
		return 0, command.Usagef("write it like 256Mi", "--%s %q is not a size", name, text)
	}
	return size.Value(), nil
}

func logger(env Env, flags *cli.Context) (*slog.Logger, error) {
	var level slog.Level
	if err := level.UnmarshalText([]byte(flags.String("log-level"))); err != nil {
		message, hint := diag.Unknown("--log-level", flags.String("log-level"),
			[]string{"debug", "info", "warn", "error"})
		return nil, command.Usagef(hint, "%s", message)
	}
	format, err := command.Choice(flags, "log-format", []string{"text", "json"})
	if err != nil {
		return nil, err
	}
	options := &slog.HandlerOptions{Level: level}
	if strings.EqualFold(format, "json") {
		return slog.New(slog.NewJSONHandler(env.Stderr, options)), nil
	}
	return slog.New(slog.NewTextHandler(env.Stderr, options)), nil
}
