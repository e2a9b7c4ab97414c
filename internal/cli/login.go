package cli

import (
	"github.com/urfave/cli/v2"

	"github.com/agentry-dev/agentry/internal/cli/command"
	"github.com/agentry-dev/agentry/internal/login"
	"github.com/agentry-dev/agentry/internal/service"
)

// loginFlags returns the flags of agentry serve that say who may log in to the console.
func loginFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "oidc-issuer",
			Usage: "let people log in to the page at this OpenID Connect issuer, a `URL`"},
		&cli.StringFlag{Name: "oidc-client-id", Usage: "`ID` by which the issuer knows agentry"},
		&cli.StringFlag{Name: "oidc-client-secret-file",
			Usage: "`FILE` with the client's secret (default: " + service.ClientSecretVariable +
				"; neither: a public client); it may change"},
		&cli.StringFlag{Name: "oidc-ca-file",
			Usage: "`FILE` with certificate authorities of the issuer, besides the system's"},
		&cli.StringSliceFlag{Name: "oidc-scope", Value: cli.NewStringSlice("profile", "email"),
			Usage: "ask the issuer for this `SCOPE`, besides openid; can be repeated"},
		&cli.StringFlag{Name: "oidc-claim", Value: "groups", Usage: "`CLAIM` that says who may do what"},
		&cli.StringSliceFlag{Name: "oidc-read",
			Usage: "those with this `VALUE` of the claim may see everything and start no pass; *: whoever logs in; " +
				"can be repeated"},
		&cli.StringSliceFlag{Name: "oidc-act",
			Usage: "those with this `VALUE` may see everything and start passes; can be repeated"},
		&cli.StringFlag{Name: "console-url",
			Usage: "`URL` at which people reach the page; the issuer sends them back to /login/callback there"},
		&cli.StringFlag{Name: "session-key-file",
			Usage: "`FILE` with the key that sessions are encrypted with, which replicas have in common (default: " +
				service.SessionKeyVariable + ", or a random one)"},
	}
}

// loginOf returns the login that the flags set.
func loginOf(flags *cli.Context) (service.Login, error) {
	o := service.Login{
		Settings: login.Settings{
			Issuer: flags.String("oidc-issuer"), ClientID: flags.String("oidc-client-id"),
			URL:    flags.String("console-url"),
			Scopes: flags.StringSlice("oidc-scope"), Claim: flags.String("oidc-claim"),
			Read: flags.StringSlice("oidc-read"), Act: flags.StringSlice("oidc-act"),
		},
		CAFile:           flags.String("oidc-ca-file"),
		ClientSecretFile: flags.String("oidc-client-secret-file"), SessionKeyFile: flags.String("session-key-file"),
	}
	if o.Issuer == "" {
		for _, f := range loginFlags() {
			if name := f.Names()[0]; flags.IsSet(name) {
				return o, command.Usagef("add --oidc-issuer", "--%s is of use with --oidc-issuer only", name)
			}
		}
		return o, nil
	}
	if err := o.Check(); err != nil {
		return o, command.Usagef(
			"a login needs --oidc-issuer, --oidc-client-id, --console-url, and --oidc-read or --oidc-act: see "+
				"docs/serve.md", "%v", err)
	}
	return o, nil
}
