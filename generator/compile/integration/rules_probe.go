package integration

import (
	"cmp"
	"path"
	"slices"
	"strings"
)

// Rules of the integrations that probe listed targets: blackbox and snmp.

// blackboxModules checks that targets use modules that exist.
func blackboxModules(o object) {
	config, _ := o.values["blackbox_config"].(map[string]any)
	modules := object{o.checker, &node{Field: &Field{}}, config, o.at("blackbox_config")}.keys("modules")
	if o.given("config_file") {
		return // the modules are in that file, and those in the configuration are not used
	}
	const byDefault = "http_2xx"
	for _, t := range o.objects("blackbox_targets") {
		module, known := t.text("module")
		switch {
		case !known || slices.Contains(modules, cmp.Or(module, byDefault)):
		case module == "":
			o.warn(t.path, "", "has no module, and blackbox_config has none of the name %s, which it would get: its "+
				"probes fail", byDefault)
		default:
			o.warn(t.at("module"), didYouMean(module, modules), "blackbox_config has no module %s: its probes fail",
				module)
		}
	}
}

func blackboxHTTP(o object) {
	o.exclusive("body", "body_file")
	o.exclusive("bearer_token", "bearer_token_file")
	auth := []string{"basic_auth", "oauth2", "authorization"}
	if o.given("bearer_token") || o.given("bearer_token_file") {
		auth = append(auth, "bearer_token")
	}
	given := slices.DeleteFunc(auth, func(f string) bool { return !o.has(f) && f != "bearer_token" })
	if len(given) > 1 {
		o.wrong(o.path, "", "%s exclude each other", strings.Join(given, " and "))
	}
	if o.has("basic_auth") {
		basic := o.object("basic_auth")
		basic.exclusive("username", "username_file")
		basic.exclusive("password", "password_file")
	}
	if o.has("authorization") {
		a := o.object("authorization")
		a.exclusive("credentials", "credentials_file")
		if text, known := a.text("type"); known && strings.EqualFold(strings.TrimSpace(text), "basic") {
			o.wrong(a.at("type"), "use basic_auth", "the type cannot be basic")
		}
	}
	if o.has("oauth2") {
		blackboxOAuth2(o.object("oauth2"))
	}
	if o.given("proxy_url") && (o.boolean("proxy_from_environment") ||
		o.given("no_proxy") && o.boolean("proxy_from_environment")) {
		o.wrong(o.at("proxy_url"), "", "proxy_url and proxy_from_environment exclude each other")
	}
}

func blackboxOAuth2(o object) {
	for _, field := range []string{"client_id", "token_url"} {
		if !o.given(field) {
			o.wrong(o.path, "", "oauth2 needs %s", field)
		}
	}
	o.exclusive("client_secret", "client_secret_file")
}

func blackboxICMP(o object) {
	if ttl, known := o.integer("ttl"); known && (ttl < 0 || ttl > 255) {
		o.wrong(o.at("ttl"), "", "ttl must be between 0 and 255")
	}
}

// snmp checks that targets use modules, credentials and parameters that exist, where the configuration lists
// all of them.
func snmp(o object) {
	if text, known := o.text("config_file"); known {
		if _, err := path.Match(text, ""); err != nil { // the exporter takes it for a pattern
			o.wrong(o.at("config_file"), "write a backslash before [",
				"config_file is not a pattern of file names: the agent would not start")
		}
	}
	config := o.object("snmp_config")
	modules, auths := config.keys("modules"), config.keys("auths")
	listed := !o.given("config_file") && len(modules)+len(auths) > 0
	for _, t := range o.objects("snmp_targets") {
		if listed {
			t.lists("module", "if_mib", "snmp_config.modules", modules)
			t.lists("auth", "public_v2", "snmp_config.auths", auths)
		}
		t.lists("walk_params", "", "walk_params", o.keys("walk_params"))
	}
}

// lists warns if a name is not in the list.
func (o object) lists(field, byDefault, where string, names []string) {
	text, known := o.text(field)
	name := cmp.Or(text, byDefault)
	if !known || name == "" || slices.Contains(names, name) {
		return
	}
	path := o.path
	if text != "" {
		path = o.at(field)
	}
	o.warn(path, didYouMean(name, names), "%s has no %s: the target would have no metrics", where, name)
}

func snmpAuth(o object) {
	version, known := o.integer("version")
	if o.value("version") == nil {
		version = 2
	}
	switch {
	case !known:
		return
	case version < 1 || version > 3:
		o.wrong(o.at("version"), "", "version must be 1, 2 or 3")
	case version == 3:
		snmpV3(o)
	}
}

// snmpV3 checks the credentials that a security level needs. Each level includes the lower ones.
func snmpV3(o object) {
	levels := []string{"noAuthNoPriv", "authNoPriv", "authPriv"}
	text, known := o.text("security_level")
	text = cmp.Or(text, levels[0])
	level := slices.Index(levels, text)
	if !known {
		return
	}
	if level < 0 {
		o.wrong(o.at("security_level"), oneOf(text, levels), "%q is not a security level", text)
		return
	}
	need := func(from int, field string, values []string) {
		value, known := o.text(field)
		value = cmp.Or(value, snmpDefaults[field])
		switch {
		case level < from || !known:
		case value == "":
			o.wrong(o.path, "", "security level %s needs %s: the agent would not start", text, field)
		case values != nil && !slices.Contains(values, value):
			o.wrong(o.at(field), oneOf(value, values), "%q is not a protocol that the agent knows", value)
		}
	}
	need(0, "username", nil)
	need(1, "password", nil)
	need(1, "auth_protocol", []string{"MD5", "SHA", "SHA224", "SHA256", "SHA384", "SHA512"})
	need(2, "priv_password", nil)
	need(2, "priv_protocol", []string{"DES", "AES", "AES192", "AES192C", "AES256", "AES256C"})
}

var snmpDefaults = map[string]string{"auth_protocol": "MD5", "priv_protocol": "DES"}
