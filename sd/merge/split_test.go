package merge

import (
	"bytes"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"testing"
)

func TestADocumentComesApartIntoItsFragments(t *testing.T) {
	var entries []Entry
	var pods []Source
	for n := range 20 {
		e := pod(t, Owner{"ns", fmt.Sprint("ga", n%3)}, n, "agent", "redis", "mysql")
		entries = append(entries, e)
		pods = append(pods, Source{Owner: e.Owner, Addr: e.Addr, Scheme: "http"})
	}
	absent := Source{Owner: Owner{"ns", "ga0"}, Addr: netip.MustParseAddrPort("10.9.9.9:80"), Scheme: "http"}
	other := pods[0] // The same address, another GrafanaAgent.
	other.Owner.Name = "other"
	fragments, err := Split([]byte(content(t, Build(entries).All())), append(pods, absent, other), DefaultLimits())
	if err != nil {
		t.Fatal(err)
	}
	for i, e := range entries {
		if !fragments[i].Equal(e.Fragment) || fragments[i].groups[0].key != e.Fragment.groups[0].key {
			t.Errorf("pod %d: %s", i, fragments[i].bytes())
		}
	}
	if fragments[20] != nil || fragments[21] != nil {
		t.Error("something was made up")
	}
}

func TestAReplicaIsTrustedAsLittleAsAPod(t *testing.T) {
	from := source()
	ours := fmt.Sprintf(`"%s":%q,"%s":%q`, OwnerNamespaceLabel, from.Owner.Namespace, OwnerNameLabel, from.Owner.Name)
	element := func(targets, labels string) string {
		return fmt.Sprintf(`{"targets":[%s],"labels":{%s%s}}`, targets, ours, labels)
	}
	self := fmt.Sprintf("%q", from.Addr)
	good := element(self, `,"a":"b"`)
	tests := map[string]struct {
		element string
		targets int
	}{
		"a good group":           {element(self, `,"c":"d"`), 2},
		"a foreign target":       {element(`"169.254.169.254:80"`, ""), 1},
		"a second target":        {element(self+`,"169.254.169.254:80"`, ""), 1},
		"a reserved label":       {element(self, `,"__address__":"169.254.169.254:80"`), 1},
		"another scheme":         {element(self, `,"__scheme__":"https"`), 1},
		"a name that is refused": {element(self, `,"a-b":"c"`), 1},
		"a label that is null":   {element(self, `,"a":null`), 1},
		"a long value":           {element(self, `,"a":"`+strings.Repeat("x", 5000)+`"`), 1},
		"another field":          {strings.Replace(good, `"targets"`, `"x":1,"targets"`, 1), 1},
		"no object":              {`"x"`, 1},
		"more than the limit":    {strings.Repeat(good+",", DefaultLimits().Groups) + good, 0},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			fragments, err := Split([]byte("["+good+","+test.element+"]"), []Source{from}, DefaultLimits())
			if err != nil || fragments[0].Targets() != test.targets ||
				bytes.Contains(fragments[0].bytes(), []byte("169.254")) {
				t.Errorf("%v %s", err, fragments[0].bytes())
			}
		})
	}
	for _, text := range []string{"", "null", "{}", "[" + good, "[" + good + "][]", good} {
		if _, err := Split([]byte(text), []Source{from}, DefaultLimits()); !errors.Is(err, ErrMalformed) {
			t.Errorf("%.20q: %v", text, err)
		}
	}
}
