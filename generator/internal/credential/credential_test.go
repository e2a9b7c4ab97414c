package credential

import (
	"net/url"
	"testing"
)

func TestInURL(t *testing.T) {
	for text, want := range map[string]bool{
		"redis://:pw@h":                    true,
		"https://u:pw@h/x":                 true,
		"https://token@h/x":                true,
		"https://u:p/w@h/x":                true,
		"http://u:${PW}rest@h":             true,
		"http://u:${PW:-default}@h":        true,
		"https://h/?access_token=x":        true,
		"mongodb://us/er:pw@h":             true,
		"mongodb://u:pw@h1:1,h2:2/x":       true,
		"https://h/x":                      false,
		"https://h:9100/a@b":               false,
		"https://[::1]:9100/a@b":           false,
		"https://h/a:b@c":                  false,
		"https://h:${PORT}/a@b":            false,
		"https://h?x=y":                    false,
		"https://${USER}:${PW}@h":          false,
		"https://user:${PW}@h":             false,
		"https://$(USER):$(PW)@h":          false,
		"https://h/?access_token=${TOKEN}": false,
		"postgres://u@h/db":                false,
		"postgres://u:@h/db":               false,
		"redis:6379":                       false,
		"u:pw@h":                           false, // not a URL
		"":                                 false,
	} {
		if got := InURL(text); got != want {
			t.Errorf("%s: %v", text, got)
		}
	}
}

func TestInSource(t *testing.T) {
	for text, want := range map[string]bool{
		"u:pw@tcp(h:3306)/db":                     true,
		"u/x:pw@(h:3306)/db":                      true,
		"u:p/w@(h:3306)/db":                       true,
		"u:${PW}x@(h:3306)/db":                    true,
		"postgres://u/x:pw@h/db":                  true,
		"postgres://${USER}:pw@h/db":              true,
		"host=h sslpassword=pw":                   true,
		"host=h password = 'pw'":                  true,
		"host=h password=${A}pw":                  true,
		"postgres://h/db?sslpassword=pw":          true,
		"mongodb://h/?x=AWS_SESSION_TOKEN:pw":     true,
		"tcp(h:3306)/db?x=a@b":                    false,
		"u@tcp(h:3306)/":                          false,
		"u:${PW}@tcp(h:3306)/":                    false,
		"u:$(PW)@tcp(h:3306)/":                    false,
		"host=h password=${PW} user=u":            false,
		"host=h password= user=u":                 true, // libpq skips the space
		"postgres://u@h:1/db?application_name=a@": false,
		"mongodb://h:27017":                       false,
		"":                                        false,
	} {
		if got := InSource(text); got != want {
			t.Errorf("%s: %v", text, got)
		}
	}
}

func TestWritten(t *testing.T) {
	for text, want := range map[string]bool{
		"pw": true, "pw${X}": true, "${X:-pw}": true, "${X": true, "": false, "${X}": false, "${A}${B}": false,
		"$(X)": false, "${X:-}": false,
	} {
		if got := Written(text); got != want {
			t.Errorf("%s: %v", text, got)
		}
	}
}

func TestInField(t *testing.T) {
	for field, want := range map[string]bool{
		"X-Api-Key": true, "apikey": true, "access_token": true, "DB_PASSWORD": true, "PRIVATE-TOKEN": true,
		"Cookie": true, "client_secret": true, "client_assertion": true,
		"X-Scope-OrgID": false, "key": false, "module": false, "TOKEN_FILE": false, "passwordless": false,
		"bypass": false,
	} {
		if got := InField(field, "hush"); got != want {
			t.Errorf("%s: %v", field, got)
		}
	}
	for value, want := range map[string]bool{"hush": true, "${X}": false, "$(X)": false, "": false, "true": false,
		"0": false, "123456": true, "/run/secrets/x": false, "/b64": true} {
		if got := InField("token", value); got != want {
			t.Errorf("%s: %v", value, got)
		}
	}
	for value, want := range map[string]bool{
		"Bearer ${K}": false, "bearer  $(K)": false, "x=${K}": false, "a=${A}; b=${B}": false, "Bearer ${A}${B}": false,
		"Bearer hush": true, "Bearer hush${K}": true, "Bearer $hush": true, "x=hush": true, "x=${K}; y=hush": true,
		"hush ${K}": true, "hush=": true,
	} {
		if got := InField("Cookie", value); got != want {
			t.Errorf("%s: %v", value, got)
		}
	}
	if !InField("DB_PASSWORD", "hush=${K}") {
		t.Error("a password that ends like a cookie's name is none")
	}
	for argument, want := range map[string]bool{"--token=hush": true, "-db.password=hush": true, "--token": false,
		"token=hush": false, "--token=$(X)": false, "--use-token=true": false} {
		if got := InArgument(argument); got != want {
			t.Errorf("%s: %v", argument, got)
		}
	}
}

func TestRedacted(t *testing.T) {
	for text, want := range map[string]string{
		"https://u:pw@h/x":           "https://<redacted>@h/x",
		"https://u:p@w@h/x":          "https://<redacted>@h/x",
		"https://u:p/w@h/x":          "https://<redacted>@h/x",
		"https://h/?api_key=x":       "<redacted>",
		"https://u:pw@h/?token=x":    "<redacted>",
		"https://${USER}:${PW}@h":    "https://${USER}:${PW}@h",
		"https://h/x":                "https://h/x",
		"https://u:pw@h/?x=a@b&y=pw": "https://<redacted>@b&y=pw",
	} {
		if got := Redacted(text); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}

func TestURLProblem(t *testing.T) {
	for text, want := range map[string]string{
		"http://h:x":       `: invalid port ":x" after host`,
		"http://u:h/ush@h": ": invalid port after host",
		"http://h/%zz@":    ": invalid URL escape",
		"http://u:p@[h":    ": missing ']' in host",
	} {
		_, err := url.Parse(text)
		if got := URLProblem(text, err); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}
