package merge

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentry-dev/agentry/test/sd/strict"
)

func source() Source {
	return Source{Owner: Owner{Namespace: "monitoring", Name: "ga"}, Addr: netip.MustParseAddrPort("10.1.2.3:8080"),
		Scheme: "http"}
}

// small are limits that a test can reach.
func small() Limits {
	return Limits{Groups: 3, GroupBytes: 200, LabelsPerGroup: 3, NameBytes: 10, ValueBytes: 10}
}

const good = `{"targets":["10.1.2.3:8080"],"labels":{"a":"b"}}`

func group(labels string) string {
	return `{"targets":["10.1.2.3:8080"],"labels":{` + labels + `}}`
}

type groupTest struct {
	group  string
	reason Reason // none: kept
}

// groupTests are for the limits of small.
func groupTests() map[string]groupTest {
	ten, eleven := strings.Repeat("x", 10), strings.Repeat("x", 11)
	return map[string]groupTest{
		"a plain group":                    {good, ""},
		"no labels at all":                 {`{"targets":["10.1.2.3:8080"]}`, ""},
		"null for no labels":               {`{"targets":["10.1.2.3:8080"],"labels":null}`, ""},
		"the same target twice":            {`{"targets":["10.1.2.3:8080","10.1.2.3:8080"]}`, ""},
		"keys in another case":             {`{"Targets":["10.1.2.3:8080"],"LABELS":{}}`, ""},
		"null":                             {`null`, ReasonMalformed},
		"a number":                         {`1`, ReasonMalformed},
		"a list":                           {`[]`, ReasonMalformed},
		"an unknown field":                 {`{"targets":["10.1.2.3:8080"],"source":"x"}`, ReasonMalformed},
		"a label that is a number":         {group(`"a":1`), ReasonMalformed},
		"a label that is null":             {group(`"a":null`), ReasonMalformed},
		"a target that is a number":        {`{"targets":[1]}`, ReasonMalformed},
		"a target that is null":            {`{"targets":[null]}`, ReasonMalformed},
		"bytes that are not UTF-8":         {group("\"a\":\"\xff\""), ReasonMalformed},
		"no target":                        {`{"targets":[]}`, ReasonNoTarget},
		"null for no targets":              {`{"targets":null}`, ReasonNoTarget},
		"an empty object":                  {`{}`, ReasonNoTarget},
		"another host":                     {`{"targets":["10.1.2.4:8080"]}`, ReasonForeignTarget},
		"another port":                     {`{"targets":["10.1.2.3:8081"]}`, ReasonForeignTarget},
		"no port":                          {`{"targets":["10.1.2.3"]}`, ReasonForeignTarget},
		"a path behind the target":         {`{"targets":["10.1.2.3:8080/x"]}`, ReasonForeignTarget},
		"the same address written another": {`{"targets":["[::ffff:10.1.2.3]:8080"]}`, ReasonForeignTarget},
		"a foreign target behind its own":  {`{"targets":["10.1.2.3:8080","169.254.169.254:80"]}`, ReasonForeignTarget},
		"a dash in a label name":           {group(`"a-b":"c"`), ReasonLabelName},
		"a dot in a label name":            {group(`"a.b":"c"`), ReasonLabelName},
		"a label name that begins with 1":  {group(`"1a":"c"`), ReasonLabelName},
		"an empty label name":              {group(`"":"c"`), ReasonLabelName},
		"a label name beyond ASCII":        {group(`"ä":"c"`), ReasonLabelName},
		"a bad label name without a value": {group(`"a-b":""`), ReasonLabelName},
		"the polled scheme":                {group(`"__scheme__":"http"`), ""},
		"another scheme":                   {group(`"__scheme__":"https"`), ReasonScheme},
		"a reserved label":                 {group(`"__name__":"x"`), ReasonReservedLabel},
		"an unknown one with underscores":  {group(`"__tmp":"x"`), ReasonReservedLabel},
		"two underscores only":             {group(`"__":"x"`), ReasonReservedLabel},
		"one underscore":                   {group(`"_a":"x"`), ""},
		"a meta label":                     {group(`"__meta_a":"x"`), ""},
		"a parameter":                      {group(`"__param_a":"x"`), ""},
		"as many labels as allowed":        {group(`"a":"1","b":"2","c":"3"`), ""},
		"a label too many":                 {group(`"a":"1","b":"2","c":"3","d":"4"`), ReasonTooLarge},
		"the longest name":                 {group(`"` + ten + `":"a"`), ""},
		"a name too long":                  {group(`"` + eleven + `":"a"`), ReasonTooLarge},
		"the longest value":                {group(`"a":"` + ten + `"`), ""},
		"a value too long":                 {group(`"a":"` + eleven + `"`), ReasonTooLarge},
		"as many bytes as allowed":         {padded(200), ""},
		"a byte too many":                  {padded(201), ReasonTooLarge},
	}
}

func TestGroupsThatBreakARuleAreDroppedAndTheOthersStay(t *testing.T) {
	for name, test := range groupTests() {
		t.Run(name, func(t *testing.T) {
			fragment, drops, err := Parse([]byte(`[`+test.group+`,`+group(`"other":"y"`)+`]`), source(), small())
			if err != nil {
				t.Fatal(err)
			}
			want := []Drop{{Reason: test.reason, Count: 1}}
			targets := 1
			if test.reason == "" {
				want, targets = nil, 2
			}
			for i := range drops {
				if drops[i].Example == "" {
					t.Error("no example")
				}
				drops[i].Example = ""
			}
			if diff := cmp.Diff(want, drops); diff != "" {
				t.Error(diff)
			}
			if fragment.Targets() != targets {
				t.Errorf("kept %d groups, want %d", fragment.Targets(), targets)
			}
		})
	}
}

// padded is a good group of n bytes.
func padded(n int) string {
	return strings.TrimSuffix(good, "}") + strings.Repeat(" ", n-len(good)) + "}"
}

func TestReservedLabelsAreRefused(t *testing.T) {
	for _, name := range []string{"__address__", "__scrape_interval__", "__scrape_timeout__", "__name__", "__tmp_x"} {
		fragment, drops, err := Parse([]byte(`[`+group(`"`+name+`":"x"`)+`]`), source(), DefaultLimits())
		if err != nil || fragment.Targets() != 0 || len(drops) != 1 || drops[0].Reason != ReasonReservedLabel {
			t.Errorf("%s: kept %d, %v, %v", name, fragment.Targets(), drops, err)
		}
	}
}

type answerTest struct {
	body string
	want error // none: taken
}

// answerTests are for the limits of small.
func answerTests() map[string]answerTest {
	return map[string]answerTest{
		"an empty list":              {`[]`, nil},
		"blanks around it":           {" \n[ ] \n", nil},
		"as many groups as allowed":  {`[` + good + `,` + good + `,` + good + `]`, nil},
		"a group too many":           {`[` + good + `,` + good + `,` + good + `,` + good + `]`, ErrTooManyGroups},
		"nothing":                    {``, ErrMalformed},
		"null":                       {`null`, ErrMalformed},
		"an object":                  {`{}`, ErrMalformed},
		"a string":                   {`"["`, ErrMalformed},
		"HTML":                       {`<html>`, ErrMalformed},
		"a byte order mark":          {"\ufeff[]", ErrMalformed},
		"gzip":                       {"\x1f\x8b\x08", ErrMalformed},
		"two documents":              {`[][]`, ErrMalformed},
		"something behind":           {`[] x`, ErrMalformed},
		"a comma behind":             {`[],`, ErrMalformed},
		"a bracket too many":         {`[]]`, ErrMalformed},
		"cut short":                  {`[` + good, ErrMalformed},
		"cut within a group":         {`[` + good[:30], ErrMalformed},
		"a comma at the end":         {`[` + good + `,]`, ErrMalformed},
		"a comma at the start":       {`[,` + good + `]`, ErrMalformed},
		"no comma":                   {`[` + good + good + `]`, ErrMalformed},
		"broken JSON within":         {`[` + good + `,{]`, ErrMalformed},
		"nested beyond any depth":    {strings.Repeat("[", 100_000), ErrMalformed},
		"a broken string at the end": {`[{"targets":["`, ErrMalformed},
	}
}

func TestAnswersThatAreRefused(t *testing.T) {
	for name, test := range answerTests() {
		t.Run(name, func(t *testing.T) {
			fragment, _, err := Parse([]byte(test.body), source(), small())
			if !errors.Is(err, test.want) || (err != nil) != (test.want != nil) {
				t.Errorf("got %v, want %v", err, test.want)
			}
			if err != nil && (fragment != nil || len(err.Error()) > 300) {
				t.Errorf("fragment %v with error %v", fragment, err)
			}
		})
	}
}

func TestOwnerLabelsAreAlwaysOurs(t *testing.T) {
	body := `[` + group(
		`"__meta_agentoperator_grafanaagent_name":"other","__meta_agentoperator_grafanaagent_namespace":"kube-system",`+
			`"__meta_agentoperator_grafanaagent_label_x":"y","keep":"me","empty":""`) + `]`
	fragment, drops, err := Parse([]byte(body), source(), DefaultLimits())
	if err != nil || drops != nil {
		t.Fatal(err, drops)
	}
	want := `{"targets":["10.1.2.3:8080"],"labels":{"__meta_agentoperator_grafanaagent_name":"ga","__meta_agentoperator_grafanaagent_namespace":"monitoring","keep":"me"}}`
	if diff := cmp.Diff(want, string(fragment.data)); diff != "" {
		t.Error(diff)
	}
}

func TestDropsAreCountedByReason(t *testing.T) {
	body := `[1,{"targets":["a"]},2,` + good + `,{"targets":["b"]},3]`
	_, drops, err := Parse([]byte(body), source(), DefaultLimits())
	if err != nil {
		t.Fatal(err)
	}
	want := []Drop{{ReasonForeignTarget, 2, `"a"`}, {ReasonMalformed, 3, "not an object"}}
	if diff := cmp.Diff(want, drops); diff != "" {
		t.Error(diff)
	}
}

// samples are recorded answers of real agents, by file.
func samples(t testing.TB) map[string][]byte {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("..", "..", "test", "sd", "samples", "*.json"))
	if err != nil || len(files) == 0 {
		t.Fatal("no samples", err)
	}
	bodies := map[string][]byte{}
	for _, file := range files {
		body, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		bodies[filepath.Base(file)] = body
	}
	return bodies
}

func TestRealAnswersAreKeptWhole(t *testing.T) {
	for name, want := range map[string]map[string]int{
		"pod.json":          {"agent": 1, "node_exporter": 1, "redis": 2},
		"multi-target.json": {"blackbox": 2, "process": 1, "snmp": 1, "statsd": 1},
	} {
		body := samples(t)[name]
		from := source()
		groups, err := strict.Parse(body)
		if err != nil {
			t.Fatal(err)
		}
		from.Addr = netip.MustParseAddrPort(groups[0].Targets[0])
		fragment, drops, err := Parse(body, from, DefaultLimits())
		if err != nil || drops != nil {
			t.Fatal(err, drops)
		}
		if diff := cmp.Diff(want, fragment.Integrations()); diff != "" {
			t.Error(diff)
		}
		for i := range groups {
			groups[i].Labels[OwnerNameLabel], groups[i].Labels[OwnerNamespaceLabel] = "ga", "monitoring"
		}
		got, err := strict.Parse([]byte("[" + string(fragment.data) + "]"))
		if err != nil {
			t.Fatal(err)
		}
		byLabels := cmp.Transformer("set", func(in []strict.Group) map[string]bool {
			out := map[string]bool{}
			for _, g := range in {
				out[fmt.Sprint(g)] = true
			}
			return out
		})
		if diff := cmp.Diff(groups, got, byLabels); diff != "" {
			t.Error(diff)
		}
	}
}
