package handwritten

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/model"
)

func job(t testing.TB, text string) (*model.ScrapeConfig, diag.List) {
	t.Helper()
	var doc yaml.Node
	if err := yaml.Unmarshal([]byte(text), &doc); err != nil {
		t.Fatal(err)
	}
	return Job(&model.Raw{Job: doc.Content[0]})
}

// TestTextsAreAsTheAgentReadsThem: a text stays what it looks like, a number is a number in any notation, and $$ is a
// dollar, unless there are variables, which are read later.
func TestTextsAreAsTheAgentReadsThem(t *testing.T) {
	const text = `
job_name: 1.10
honor_labels: yes
sample_limit: 0x10
static_configs: [{targets: ["a$$b"], labels: {zip: 0012, version: 1.10, token: t}}]
consul_sd_configs: [{server: s, token: t, allow_stale: off, node_meta: {port: 0x50}}]
docker_sd_configs: [{host: h, port: 0x50, filters: [{name: port, values: [0x50]}]}]
`
	got, problems := job(t, text)
	yes, limit := true, int64(16)
	want := &model.ScrapeConfig{
		HandWritten: true, JobName: "1.10", Switches: model.Switches{model.HonorLabels: &yes},
		Limits: model.Limits{Counts: model.Counts{model.Samples: &limit}},
		Discoveries: []model.Discovery{
			{Mechanism: "static", Line: 5, Settings: model.Map{{Key: "targets", Value: model.List{model.String("a$b")}},
				{Key: "labels", Value: model.Map{{Key: "zip", Value: model.String("0012")},
					{Key: "version", Value: model.String("1.10")}, {Key: "token", Value: model.String("t")}}}}},
			{Mechanism: "consul", Line: 6,
				Settings: model.Map{{Key: "server", Value: model.String("s")},
					{Key: "token", Value: model.Secret{Value: "t", Set: true}},
					{Key: "allow_stale", Value: model.Bool(false)},
					{Key: "node_meta", Value: model.Map{{Key: "port", Value: model.String("0x50")}}}}},
			{Mechanism: "docker", Line: 7,
				Settings: model.Map{{Key: "host", Value: model.String("h")}, {Key: "port", Value: model.Number("80")},
					{Key: "filters", Value: model.List{model.Map{{Key: "name", Value: model.String("port")},
						{Key: "values", Value: model.List{model.String("0x50")}}}}}}},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" || problems != nil {
		t.Errorf("%v (-want +got):\n%s", problems, diff)
	}
	got, _ = job(t, "job_name: a$$b\nstatic_configs: [{targets: [\"${X}\"]}]\n")
	if got.JobName != "a$$b" || !got.Variables {
		t.Errorf("a text with variables is %+v", got)
	}
}

// FuzzJob reads any mapping without a panic, and twice as once.
func FuzzJob(f *testing.F) {
	for _, seed := range []string{
		"job_name: a\nrelabel_configs: [{source_labels: [a], modulus: 7, action: labelkeep, regex: '${X}'}]",
		"consul_sd_configs: [{tls_config: {ca: x}, authorization: {}, filters: {}}]\nstatic_configs: {}",
		"params: {a: [b], ${C}: []}\noauth2: {endpoint_params: {a: b}, scopes: [c]}\nvultr_sd_configs: 1",
		"proxy_connect_header: {a: [b]}\nsample_limit: -1\nhonor_labels: [x]\n? [a]\n: {port: []}",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var doc yaml.Node
		if yaml.Unmarshal([]byte(text), &doc) != nil || len(doc.Content) == 0 ||
			doc.Content[0].Kind != yaml.MappingNode {
			return
		}
		raw := &model.Raw{Job: doc.Content[0]}
		first, problems := Job(raw)
		again, problemsAgain := Job(raw)
		if diff := cmp.Diff(first, again) + cmp.Diff(problems, problemsAgain); diff != "" {
			t.Error(diff)
		}
	})
}

// TestFactorOfBuckets: a factor in any notation is a number for Alloy, and one that is not finite is a problem.
func TestFactorOfBuckets(t *testing.T) {
	for in, want := range map[string]string{"1.1": "1.1", "+1.5": "1.5", "2": "2", ".inf": "", ".nan": "", "x": ""} {
		got, problems := job(t, "job_name: a\nnative_histogram_min_bucket_factor: "+in+"\n")
		if got.Formats.MinBucketFactor != want || (len(problems) == 0) != (want != "") {
			t.Errorf("%s: %q, %v", in, got.Formats.MinBucketFactor, problems)
		}
	}
}
