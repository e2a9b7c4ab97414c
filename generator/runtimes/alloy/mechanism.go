package alloy

import (
	"slices"
	"strings"

	"github.com/agentry-dev/agentry/generator/internal/alloynames"
	"github.com/agentry-dev/agentry/generator/model"
	"github.com/agentry-dev/agentry/generator/runtimes/alloy/catalogue"
	"github.com/agentry-dev/agentry/generator/runtimes/alloy/syntax"
)

const static = "static"

// service returns the targets of a service discovery as people write it in ScrapeConfigs and by hand.
func (f *file) service(job *model.ScrapeConfig, d *model.Discovery) syntax.Expr {
	if d.Mechanism == static {
		return f.staticService(job, d)
	}
	build := func(f *file) syntax.Block {
		b := f.component(d)
		replaced(job, &b)
		return b
	}
	return f.shared("discovery."+d.Mechanism, build, func() string {
		shown := build(&file{values: values{redact: true}})
		return alloynames.Hashed(wordsOf(d), syntax.Text(&shown))
	})
}

// wordsOf returns the words that the label of a service discovery begins with.
func wordsOf(d *model.Discovery) string {
	if role, ok := d.Settings.Get("role").(model.String); ok && d.Mechanism == "kubernetes" {
		return alloynames.Words(string(role))
	}
	return "targets"
}

// component returns the component of a service discovery, without its name and label.
func (f *file) component(d *model.Discovery) syntax.Block {
	var b syntax.Block
	settings, client := inAlloy(d)
	f.arguments(&b, catalogue.Get("discovery."+d.Mechanism), "", settings)
	f.client(&b, &client)
	return b
}

// inAlloy returns the settings of a service discovery by the names of its component.
func inAlloy(d *model.Discovery) (model.Map, model.HTTPClient) {
	client := d.HTTPClient
	settings := slices.Clone(d.Settings)
	for i := range settings {
		if settings[i].Key == "filters" {
			settings[i].Key = "filter"
		}
	}
	switch d.Mechanism {
	case "azure":
		settings = inAzure(settings)
	case "digitalocean":
		if a := client.Authorization; a != nil && (!a.Type.Set || strings.EqualFold(a.Type.Value, "Bearer")) {
			client.BearerToken, client.Authorization = a.Credentials, nil
		}
	case "docker":
		if settings.Get("match_first_network") == nil {
			settings.Set("match_first_network", model.Bool(false)) // the agent does not have it: it takes all
		}
	}
	return settings, client
}

// Blocks of discovery.azure that came with v1.19: the catalogue decides.
const (
	azureSDK      = "sdk_auth"
	azureWorkload = "workload_identity"
)

// inAzure puts the credentials of Azure into the block of their kind.
func inAzure(all model.Map) (out model.Map) {
	var credentials model.Map
	method := "oauth"
	for _, p := range all {
		switch p.Key {
		case "authentication_method":
			switch p.Value {
			case model.String("ManagedIdentity"):
				method = "managed_identity"
			case model.String("SDK"):
				method = azureSDK
			case model.String("WorkloadIdentity"):
				method = azureWorkload
			}
		case "tenant_id", "client_id", "client_secret":
			credentials = append(credentials, p)
		default:
			out = append(out, p)
		}
	}
	if method == "managed_identity" {
		id := credentials.Get("client_id")
		if id == nil {
			id = model.String("")
		}
		credentials = model.Map{{Key: "client_id", Value: id}}
	}
	out.Set(method, credentials)
	return out
}

// staticService returns targets that are written out.
func (f *file) staticService(job *model.ScrapeConfig, d *model.Discovery) syntax.Expr {
	targets, _ := d.Settings.Get("targets").(model.List)
	labels, _ := d.Settings.Get("labels").(model.Map)
	var all []syntax.Expr
	for _, address := range targets {
		pairs := []syntax.Pair{{Key: "__address__", Value: f.argument("string", address)}}
		for _, p := range labels {
			pairs = append(pairs, syntax.Pair{Key: p.Key, Value: f.argument("string", p.Value)})
		}
		all = append(all, syntax.Object(pairs))
	}
	return replacedIn(job, syntax.Lines("[", all, "]"))
}
