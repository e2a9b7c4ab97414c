package integration

import (
	"slices"
	"strings"
)

// mysqlDSN is the part of a MySQL data source name that matters here:
// [user[:password]@][net[(addr)]]/dbname[?param1=value1&...].
type mysqlDSN struct{ net, addr, database string }

// parseMySQL parses a data source name as the agent's driver does: the database follows the last slash, and the
// address follows the last at sign before that slash.
func parseMySQL(dsn string) (d mysqlDSN, problem string) {
	slash := strings.LastIndexByte(dsn, '/')
	if slash < 0 && dsn != "" {
		return d, "it has no slash before the database's name, as in user:password@tcp(host:3306)/database"
	}
	server := dsn[:max(slash, 0)]
	server = server[strings.LastIndexByte(server, '@')+1:]
	database, parameters, _ := strings.Cut(dsn[slash+1:], "?")
	d.database, d.net = database, server
	if open := strings.IndexByte(server, '('); open >= 0 {
		if !strings.HasSuffix(server, ")") {
			return d, "the address lacks its closing parenthesis, or something stands behind it"
		}
		d.net, d.addr = server[:open], server[open+1:len(server)-1]
	}
	if d.net == "" {
		d.net = "tcp"
	}
	if problem = d.complete(); problem != "" {
		return d, problem
	}
	return d, mysqlParameters(parameters)
}

// complete sets the network and address that the driver uses by default.
func (d *mysqlDSN) complete() (problem string) {
	switch {
	case d.addr == "" && d.net == "tcp":
		d.addr = "127.0.0.1:3306"
	case d.addr == "" && d.net == "unix":
		d.addr = "/tmp/mysql.sock"
	case d.addr == "":
		return "the part before the slash must be a network with an address in parentheses, as in tcp(host:3306)"
	case d.net == "tcp":
		if _, _, ok := splitHostPort(d.addr); !ok {
			d.addr = joinHostPort(d.addr, "3306")
		}
	}
	return ""
}

// mysqlParameters returns the first problem with the parameters that the driver would refuse.
func mysqlParameters(parameters string) (problem string) {
	switches := []string{"allowAllFiles", "allowCleartextPasswords", "allowFallbackToPlaintext", "allowNativePasswords",
		"allowOldPasswords",
		"checkConnLiveness", "clientFoundRows", "columnsWithAlias", "interpolateParams", "multiStatements", "parseTime",
		"rejectReadOnly"}
	for p := range strings.SplitSeq(parameters, "&") {
		key, value, ok := strings.Cut(p, "=")
		switch {
		case !ok:
		case key == "compress" || key == "strict":
			return "the parameter " + key + " is not one that the agent's driver takes"
		case slices.Contains(switches, key) &&
			!slices.Contains([]string{"1", "true", "TRUE", "True", "0", "false", "FALSE", "False"}, value):
			return "the parameter " + key + " is neither true nor false"
		case slices.Contains([]string{"timeout", "readTimeout", "writeTimeout"}, key) && !isDuration(value):
			return "the parameter " + key + " is not a duration such as 5s"
		}
	}
	return ""
}

// mysqlServer returns net(address)/database of the data source as instance key.
func mysqlServer(o object) inferred {
	text, ok := o.text("data_source_name")
	if !ok {
		return o.depends("data_source_name")
	}
	d, problem := parseMySQL(text)
	if problem != "" {
		o.underivable("data_source_name", "data_source_name cannot be parsed (%s)", problem)
		return inferred{}
	}
	return known(d.net + "(" + d.addr + ")/" + d.database)
}

// splitHostPort splits host:port and [host]:port. It returns false for anything else.
func splitHostPort(s string) (host, port string, ok bool) {
	colon := strings.LastIndexByte(s, ':')
	if colon < 0 {
		return "", "", false
	}
	host, port = s[:colon], s[colon+1:]
	if inner, bracketed := strings.CutPrefix(host, "["); bracketed {
		inner, closed := strings.CutSuffix(inner, "]")
		return inner, port, closed && !strings.ContainsAny(inner, "[]")
	}
	return host, port, !strings.ContainsAny(host, ":[]") && !strings.ContainsAny(port, "[]")
}

// joinHostPort returns host:port, with IPv6 addresses in brackets.
func joinHostPort(host, port string) string {
	if strings.Contains(host, ":") {
		return "[" + host + "]:" + port
	}
	return host + ":" + port
}
