package cli

import (
	"slices"
	"strings"
	"testing"

	"github.com/urfave/cli/v2"

	"github.com/agentry-dev/agentry/internal/service"
)

// readLogin parses flags as the command does.
func readLogin(t *testing.T, args ...string) (out service.Login, err error) {
	t.Helper()
	app := &cli.App{Flags: loginFlags(), Action: func(flags *cli.Context) error {
		out, err = loginOf(flags)
		return nil
	}}
	if wrong := app.Run(append([]string{"serve"}, args...)); wrong != nil {
		t.Fatal(wrong)
	}
	return out, err
}

func TestTheFlagsOfALogin(t *testing.T) {
	good := []string{"--oidc-issuer=https://id.example.com", "--oidc-client-id=agentry",
		"--console-url=https://agentry.example.com"}
	o, err := readLogin(t, append(slices.Clone(good), "--oidc-act=sre", "--oidc-act=platform", "--oidc-scope=groups",
		"--session-key-file=key")...)
	if err != nil || !slices.Equal(o.Act, []string{"sre", "platform"}) || !slices.Equal(o.Scopes, []string{"groups"}) ||
		o.Claim != "groups" || o.SessionKeyFile != "key" {
		t.Errorf("%+v %v", o, err)
	}
	if o, err := readLogin(t); err != nil || o.Issuer != "" {
		t.Errorf("no flags: %+v %v", o, err)
	}
	for want, args := range map[string][]string{
		"nobody may log in":                               good,
		"--oidc-act is of use with --oidc-issuer only":    {"--oidc-act=sre"},
		"--console-url is of use with --oidc-issuer only": {"--console-url=https://agentry.example.com"},
		"the issuer http://id.example.com must use https": append(slices.Clone(good), "--oidc-act=sre",
			"--oidc-issuer=http://id.example.com"),
		`the URL of the console "agentry" is not a URL such`: append(slices.Clone(good), "--oidc-act=sre",
			"--console-url=agentry"),
	} {
		if _, err := readLogin(t, args...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: got %v, want %q", args, err, want)
		}
	}
}
