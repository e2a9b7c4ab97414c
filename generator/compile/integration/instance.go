package integration

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/model"
)

// inferred is the instance key that the agent infers for an integration without one.
type inferred struct {
	text  string
	known bool
	// same is equal for integrations of one name in one pod that get the same key, even if the key depends on
	// the pod. It is empty if nothing is known about the key.
	same string
}

// inference returns the instance key of an integration. It reports an error if the agent could not infer one,
// because the agent does not start then.
type inference func(o object) inferred

// inferences are the inferences by integration. An integration without one gets the pod's <hostname>:<port>.
var inferences = map[string]inference{
	"apache_http":   hostOf("scrape_uri"),
	"azure":         hashOfAll,
	"blackbox":      literally("blackbox"),
	"cloudwatch":    hashOfAll,
	"consul":        hostOf("server"),
	"dnsmasq":       field("dnsmasq_address"),
	"elasticsearch": hostOf("address"),
	"eventhandler":  literally("eventhandler"),
	"gcp":           hashOfAll,
	"github":        hostOf("api_url"),
	"kafka":         firstBroker,
	"memcached":     field("memcached_address"),
	"mongodb":       hostOf("mongodb_uri"),
	"mssql":         hostOf("connection_string"),
	"mysql":         mysqlServer,
	"oracledb":      hostAndPort("connection_string"),
	"postgres":      postgresServer,
	"redis":         field("redis_addr"),
	"snmp":          literally("snmp"),
	"snowflake":     field("account_name"),
	"squid":         field("address"),
	"vsphere":       hostAndPort("vsphere_url"),
}

// instance returns the key of an integration: the written one, or the inferred one.
func (o object) instance(t *Type) inferred {
	if o.has("instance") {
		return field("instance")(o)
	}
	if infer, ok := inferences[t.Name]; ok {
		return infer(o)
	}
	if t.Unchecked {
		return inferred{}
	}
	return inferred{same: "the pod"}
}

func known(text string) inferred { return inferred{text: text, known: true, same: "=" + text} }

// depends returns a key that depends on a variable in the field: equal texts give equal keys.
func (o object) depends(field string) inferred {
	text, _ := o.value(field).(string)
	if text == "" {
		return inferred{}
	}
	return inferred{same: "$" + text}
}

func literally(text string) inference { return func(object) inferred { return known(text) } }

func field(name string) inference {
	return func(o object) inferred {
		if text, ok := o.text(name); ok {
			return known(text)
		}
		return o.depends(name)
	}
}

func hostOf(field string) inference {
	return ofURL(field, func(u *url.URL) string { return u.Host })
}

func hostAndPort(field string) inference {
	return ofURL(field, func(u *url.URL) string { return u.Hostname() + ":" + u.Port() })
}

func ofURL(field string, key func(*url.URL) string) inference {
	return func(o object) inferred {
		text, ok := o.text(field)
		if !ok {
			return o.depends(field)
		}
		u, err := url.Parse(text)
		if err != nil {
			o.underivable(field, "%s is not a URL", field)
			return inferred{}
		}
		return known(key(u))
	}
}

// hashOfAll returns a key that is equal only for equal configurations.
func hashOfAll(o object) inferred {
	own := make(map[string]any, len(o.values))
	for key, v := range o.values {
		if v != nil && !slices.Contains([]string{"instance", "autoscrape", "extra_labels"}, key) {
			own[key] = v
		}
	}
	return inferred{same: fmt.Sprintf("#%v", own)} // fmt sorts the keys of maps
}

// underivable reports that the agent cannot infer an instance key.
func (o object) underivable(field, format string, args ...any) {
	path := o.path
	if o.has(field) {
		path = o.at(field)
	}
	if o.hasFinding(path) {
		return // the reason has been reported
	}
	o.refuse(diag.IntegrationInstance, path, "set instance",
		"no instance can be inferred, as "+format+": the agent would not start", args...)
}

// items returns the items of a list, without nulls.
func (o object) items(field string) []any {
	list, _ := o.values[field].([]any)
	return slices.DeleteFunc(slices.Clone(list), func(v any) bool { return v == nil })
}

func firstBroker(o object) inferred {
	brokers := o.items("kafka_uris")
	switch len(brokers) {
	case 0:
		return known("") // the agent refuses it for another reason
	case 1:
		if text, ok := textOf(brokers[0]); ok {
			return known(text)
		}
		return inferred{same: fmt.Sprint("$", brokers[0])}
	}
	o.underivable("kafka_uris", "there are %d brokers", len(brokers))
	return inferred{}
}

// postgresServer returns postgresql://host:port/database of the only data source.
func postgresServer(o object) inferred {
	sources := o.items("data_source_names")
	if len(sources) != 1 {
		if len(sources) > 1 {
			o.underivable("data_source_names", "there are %d data sources", len(sources))
		}
		return inferred{}
	}
	text, ok := textOf(sources[0])
	if !ok {
		return inferred{same: fmt.Sprint("$", sources[0])}
	}
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "postgres" && u.Scheme != "postgresql" {
		o.underivable("data_source_names", "the data source is not a URL that begins with postgresql://")
		return inferred{}
	}
	return known(postgresKey(o, u))
}

// postgresKey joins host, port and database. The URL's query can override each of them.
func postgresKey(o object, u *url.URL) string {
	settings := map[string]string{"host": u.Host, "dbname": strings.TrimPrefix(u.Path, "/")}
	if host, port, ok := splitHostPort(u.Host); ok {
		settings["host"], settings["port"] = host, port
	}
	password, _ := u.User.Password()
	texts := []string{u.User.Username(), password, settings["host"], settings["dbname"]}
	for key, values := range u.Query() {
		texts = append(texts, values[0])
		settings[key] = max(settings[key], values[0]) // the driver sorts the values and uses the last one
	}
	if slices.ContainsFunc(texts, func(s string) bool { return splits(s) }) {
		o.wrong(o.at("data_source_names"), "set instance, or take the space out",
			"a part of the data source has a space in it, on which the agent crashes while it infers the instance")
	}
	if strings.Join(texts, "") == "" && settings["port"] == "" {
		o.wrong(o.at("data_source_names"), "set instance, or name the host",
			"the data source says nothing but its scheme, on which the agent crashes while it infers the instance")
	}
	if settings["host"] == "" {
		settings["host"], settings["port"] = "localhost", "5432"
	}
	host := settings["host"]
	if settings["port"] != "" {
		host += ":" + settings["port"]
	}
	return "postgresql://" + host + "/" + settings["dbname"]
}

// splits reports whether a word without an equals sign follows a space. The agent reads such a word as a setting.
func splits(s string) bool {
	words := strings.Split(s, " ")
	return slices.ContainsFunc(words[1:], func(w string) bool { return !strings.Contains(w, "=") })
}

// InstanceText returns the instance key as a text in which the agent expands variables, as far as it is known. ofPod
// means that it is the name of the pod's host and the port.
func (c *Checked) InstanceText() (text model.Text, ofPod bool) {
	switch {
	case c.InstanceKnown:
		return model.Present(strings.ReplaceAll(c.Instance, "$", "$$")), false
	case c.Config.Get("instance") != nil:
		written, is := c.Config.Get("instance").(model.String)
		return model.Text{Value: string(written), Set: is}, false
	}
	return model.Text{}, c.same == "the pod"
}

// JobLabel returns the label job of its targets. It is empty if there are none.
func (c *Checked) JobLabel() string {
	if c.Type == nil {
		return ""
	}
	return c.Type.JobLabel
}
