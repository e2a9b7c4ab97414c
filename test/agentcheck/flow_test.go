package main

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"github.com/agentry-dev/agentry/test/agentcheck/agentbinary"
	"github.com/agentry-dev/agentry/test/agentcheck/rendered"
	"github.com/agentry-dev/agentry/test/fixtures"
)

// TestFlowLoadsEveryConfiguration lets the agent's Flow mode, the ancestor of Alloy, load each file that is rendered
// for Alloy: it parses it, decodes every component and starts it. What is not rendered for Alloy yet is left out of
// them.
func TestFlowLoadsEveryConfiguration(t *testing.T) {
	f := startFlow(t)
	agentry := build(t)
	loaded := 0
	for _, in := range inputs(t) {
		for _, policy := range []string{"plaintext", "reference"} {
			t.Run(in.name+"/"+policy, func(t *testing.T) {
				for _, c := range renderAlloy(t, agentry, in, policy) {
					if why := f.reload(t, c.Text); why != "" {
						t.Errorf("%s: %s\n%s", filepath.Base(c.File), why, c.Text)
					}
					loaded++
				}
			})
		}
	}
	if loaded < 200 {
		t.Errorf("only %d configurations were loaded", loaded)
	}
}

// TestFlowRefusesWhatIsWrong proves that the test above could fail.
func TestFlowRefusesWhatIsWrong(t *testing.T) {
	f := startFlow(t)
	for name, text := range map[string]string{
		"an unknown argument": "prometheus.remote_write \"x\" {\n\tendpoint {\n\t\turl = \"http://x\"\n\t\tnone = 1\n" +
			"\t}\n}\n",
		"a reference": "prometheus.scrape \"x\" {\n\ttargets = []\n" +
			"\tforward_to = [prometheus.remote_write.x.receiver]\n}\n",
		"a rule": "discovery.relabel \"x\" {\n\ttargets = []\n\trule {\n\t\taction = \"join\"\n\t}\n}\n",
	} {
		if f.reload(t, text) == "" {
			t.Errorf("%s is accepted", name)
		}
	}
}

// renderAlloy renders an input for Alloy. Errors do not matter here: much is not rendered yet.
func renderAlloy(t *testing.T, agentry string, in input, policy string) []rendered.Config {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "out")
	cmd := exec.Command(agentry, "render", "--no-pipeline", "--runtime", "alloy", "--compatibility", in.mode,
		"--secrets",
		policy, "-o", dir, in.path)
	if out, err := cmd.CombinedOutput(); err != nil && cmd.ProcessState.ExitCode() != 1 {
		t.Fatalf("%v: %s", err, out)
	}
	configs, err := rendered.ReadAlloy(dir)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return configs
}

// flow is an agent in Flow mode.
type flow struct {
	config, address, cert, key, text, google string
	log                                      *bytes.Buffer
}

func startFlow(t *testing.T) *flow {
	t.Helper()
	f := newFlow(t)
	f.run(t, f.config)
	return f
}

// newFlow returns an agent that does not run yet, with the files that configurations name.
func newFlow(t *testing.T) *flow {
	t.Helper()
	dir := t.TempDir()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	f := &flow{config: filepath.Join(dir, "config.river"), address: listener.Addr().String(),
		text: filepath.Join(dir, "text"), google: filepath.Join(dir, "google.json"), log: &bytes.Buffer{}}
	listener.Close()
	f.cert, f.key = certificate(t, dir)
	for name, text := range map[string]string{f.config: "", f.text: "",
		f.google: `{"type": "authorized_user", "client_id": "i", "client_secret": "s", "refresh_token": "t"}`} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return f
}

// run starts the agent with a file or a folder, and waits until it is ready.
func (f *flow) run(t *testing.T, config string) {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	cmd := exec.CommandContext(ctx, agentbinary.Build(t), "run", config, "--server.http.listen-addr="+f.address,
		"--storage.path="+filepath.Join(filepath.Dir(f.config), "data"), "--disable-reporting")
	cmd.Env = append(os.Environ(), "AGENT_MODE=flow", "SHARD=0", "POD_NAME=agent-0", "HOSTNAME=node", "TOPOLOGY_ZONE=a",
		"INZONE_SHARD=0", "AWS_REGION=eu-west-1", "AWS_ACCESS_KEY_ID=id", "AWS_SECRET_ACCESS_KEY=key",
		"MYSQL_DSN=u:p@tcp(db:3306)/", "DSN=u:p@tcp(db:3306)/", "SHOP_ORDERS_DSN=u:p@tcp(db:3306)/",
		"SNOWFLAKE_PASSWORD=p", "GOOGLE_APPLICATION_CREDENTIALS="+f.google)
	cmd.Stderr = f.log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		stop()
		_ = cmd.Wait()
	})
	for deadline := time.Now().Add(5 * time.Minute); ; time.Sleep(100 * time.Millisecond) {
		if r, err := http.Get("http://" + f.address + "/-/ready"); err == nil {
			r.Body.Close()
			if r.StatusCode == http.StatusOK {
				return
			}
		}
		if time.Now().After(deadline) {
			t.Fatalf("the agent is not ready: %.2000s", f.log)
		}
	}
}

// reload lets the agent load a file, and returns what it says against it.
func (f *flow) reload(t *testing.T, text string) string {
	t.Helper()
	if err := os.WriteFile(f.config, []byte(f.inFlow(text)), 0o600); err != nil {
		t.Fatal(err)
	}
	return f.readAgain(t)
}

// readAgain lets the agent load its files, and returns what it says against them.
func (f *flow) readAgain(t *testing.T) string {
	t.Helper()
	r, err := http.Post("http://"+f.address+"/-/reload", "", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	if r.StatusCode == http.StatusOK {
		return ""
	}
	return fmt.Sprintf("%s: %s", r.Status, body)
}

var (
	variables   = regexp.MustCompile(`\$\((\w+)\)`)
	fromSecrets = regexp.MustCompile(`sys\.env\("AGENTRY_\w+"\)`)
	inCluster   = regexp.MustCompile(`(?m)^(discovery\.kubernetes "\w+" \{\n)((?:\t[^a].*\n)*?(?:\n|\}))`)
	tlsFiles    = regexp.MustCompile(`(?m)^(\t+(?:ca_file|cert_file) += )".*"$`)
	keyFiles    = regexp.MustCompile(`(?m)^(\t+key_file +=) ".*"$`)
	otherFiles  = regexp.MustCompile(
		`(?m)^(\t+(?:filename|secret_key_file|password_file|redis_password_file|api_token_file) +=) ".*"$`)
	nodeFolders  = regexp.MustCompile(`(?m)^(\t(proc|sys)fs_path +=) ".*"$`)
	needsBroker  = regexp.MustCompile(`(?m)^prometheus\.exporter\.(?:kafka|statsd) "\w+" \{\n(?:\t.*\n|\n)*\}\n`)
	ofEvents     = regexp.MustCompile(`(?m)^loki\.source\.kubernetes_events "\w+" \{\n(?:\t.*\n)*`)
	zookeepers   = regexp.MustCompile(`(?m)^(\t+servers +=) .*$`)
	newArguments = regexp.MustCompile(
		`(?m)^\t+(?:native_histogram_\w+|match_first_network|scrape_native_histograms|scrape_protocols|scrape_fallback_protocol|convert_classic_histograms_to_nhcb|enable_compression|metric_name_\w+_scheme|honor_metadata|protobuf_message|round_robin_dns|use_fips_sts_endpoint|external_id) +=.*\n|^\t{3}scope +=.*\n|^(?:\t+legacy_position|\t+stage\.geoip) \{\n(?:\t+\w+ += .*\n)*\t+\}\n`)
	newAzure   = regexp.MustCompile(`(?m)^\t{3}(?:oauth|sdk|workload_identity) \{\n(?:\t+\w+ += .*\n)*\t+\}\n`)
	newRegion  = regexp.MustCompile(`(?m)^(discovery\.linode "\w+" \{\n(?:\t.*\n)*?)\tregion +=.*\n`)
	newRecords = regexp.MustCompile(`(?m)^(\ttype +=) "NS"$`)
)

// inFlow returns a file as Flow mode reads it: functions have their old names, what is new is left out, and so is what
// needs a database or a broker, and statsd, which stops the agent when it is removed; there is an API server, and files
// and the node's folders exist. The config reloader has replaced variables.
func (f *flow) inFlow(text string) string {
	text = variables.ReplaceAllString(text, "0")
	text = fromSecrets.ReplaceAllString(text, `"from-a-secret"`)
	text = fixtures.InFlow(text)
	text = newArguments.ReplaceAllString(text, "")
	text = newAzure.ReplaceAllString(text,
		"\t\t\tmanaged_identity {\n\t\t\t\tclient_id = \"11111111-2222-4333-8444-555555555555\"\n\t\t\t}\n")
	text = newRegion.ReplaceAllString(text, "$1")
	text = newRecords.ReplaceAllString(text, `$1 "MX"`)
	text = inCluster.ReplaceAllString(text, "${1}\tapi_server = \"http://127.0.0.1:1\"\n$2")
	text = nodeFolders.ReplaceAllString(text, `$1 "/$2"`)
	text = needsBroker.ReplaceAllString(text, "")
	text = ofEvents.ReplaceAllString(text, "${0}\n\tclient {\n\t\tapi_server = \"http://127.0.0.1:1\"\n\t}\n")
	text = tlsFiles.ReplaceAllString(text, `${1}"`+f.cert+`"`)
	text = keyFiles.ReplaceAllString(text, `${1} "`+f.key+`"`)
	text = zookeepers.ReplaceAllString(text, `${1} ["127.0.0.1:1"]`)
	return otherFiles.ReplaceAllString(text, `${1} "`+f.text+`"`)
}

// certificate writes a certificate and its key.
func certificate(t *testing.T, dir string) (cert, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalECPrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	write := func(name, kind string, data []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: data}), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	return write("cert.pem", "CERTIFICATE", der), write("key.pem", "EC PRIVATE KEY", secret)
}
