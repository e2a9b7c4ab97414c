package alloy

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/grafana/river/ast"
	"github.com/grafana/river/token"

	"github.com/agentry-dev/agentry/generator/runtimes/alloy/catalogue"
)

// assign checks whether an expression can be the value of an attribute.
func (c *checker) assign(name string, e ast.Expr, want string) {
	switch e := e.(type) {
	case *ast.LiteralExpr:
		c.assignLiteral(name, e, want)
	case *ast.ArrayExpr:
		item, ok := inner(want, "list")
		if !ok {
			c.fail("%s wants %s, not a list", name, want)
			return
		}
		for _, x := range e.Elements {
			c.assign(name, x, item)
		}
	case *ast.ObjectExpr:
		item, ok := inner(want, "map")
		if want == "target" {
			item, ok = "string", true
		}
		if !ok {
			c.fail("%s wants %s, not an object", name, want)
			return
		}
		seen := map[string]bool{}
		for _, x := range e.Fields {
			if seen[x.Name.Name] {
				c.fail("%s has the key %s twice", name, x.Name.Name)
			}
			seen[x.Name.Name] = true
			c.assign(name, x.Value, item)
		}
	default:
		if is := c.typeOf(name, e); is != "" && !assignable(is, want) {
			c.fail("%s wants %s, not %s", name, want, is)
		}
	}
}

func inner(kind, of string) (string, bool) {
	rest, ok := strings.CutPrefix(kind, of+"(")
	return strings.TrimSuffix(rest, ")"), ok || kind == "any"
}

func assignable(is, want string) bool {
	switch want {
	case "any", is:
		return true
	case "secret-or-string":
		return is == "string" || is == "secret"
	case "secret", "duration":
		return is == "string"
	}
	return false
}

func (c *checker) assignLiteral(name string, e *ast.LiteralExpr, want string) {
	is := map[token.Token]string{token.STRING: "string", token.NUMBER: "number", token.FLOAT: "number",
		token.BOOL: "bool"}[e.Kind]
	if !assignable(is, want) {
		c.fail("%s wants %s, not %s", name, want, e.Value)
		return
	}
	if is != "string" {
		return
	}
	text, err := strconv.Unquote(e.Value)
	if err != nil {
		c.fail("%s: %v", name, err)
		return
	}
	if _, err := time.ParseDuration(text); want == "duration" && err != nil {
		c.fail("%s: %q is not a duration", name, text)
	}
	last := name[strings.LastIndexByte(name, '.')+1:]
	if last == "regex" || last == "expression" || last == "firstline" {
		if _, err := regexp.Compile("^(?:" + text + ")$"); err != nil {
			c.fail("%s: %v", name, err)
		}
	}
	if (last == "longer_than" || last == "batch_size") && !size.MatchString(text) {
		c.fail("%s: %q is not a size", name, text)
	}
	if last == "target_label" && !targetLabel.MatchString(text) {
		c.fail("%s: %q is not the name of a label", name, text)
	}
	allowed, limited := enumOf(name)
	if last == "role" {
		allowed, limited = roles[strings.Split(c.at, ".")[1]]
	}
	if limited && !slices.Contains(allowed, text) {
		c.fail("%s: %q is none of %s", name, text, strings.Join(allowed, ", "))
	}
}

// targetLabel is what a rule may write: the name of a label, with groups of its expression.
var targetLabel = regexp.MustCompile(`^(?:(?:[a-zA-Z_]|\$(?:\{\w+\}|\w+))+\w*)+$`)

// size is what sizes are written as.
var size = regexp.MustCompile(`^[1-9]\d*B$`)

// enumOf returns the values that an attribute may have. An attribute of a block can have values of its own.
func enumOf(name string) (values []string, is bool) {
	parts := strings.Split(name, ".")
	if n := len(parts); n > 1 {
		if values, is = enums[parts[n-2]+"."+parts[n-1]]; is {
			return values, true
		}
		if parts[n-1] == "format" { // of a time
			return nil, false
		}
	}
	values, is = enums[parts[len(parts)-1]]
	return values, is
}

// enums are the values of attributes that the catalogue knows only as strings, by their names in the components that
// agentry renders.
var enums = map[string][]string{
	"action": {"replace", "keep", "drop", "hashmod", "labelmap", "labeldrop", "labelkeep",
		"lowercase", "uppercase", "keepequal", "dropequal"},
	"match.action":                {"keep", "drop"},
	"counter.action":              {"inc", "add"},
	"gauge.action":                {"set", "inc", "dec", "add", "sub"},
	"timestamp.action_on_failure": {"skip", "fudge"},
	"scheme":                      {"http", "https"},
	"min_version":                 {"TLS10", "TLS11", "TLS12", "TLS13"},
	"level":                       {"error", "warn", "info", "debug"},
	"format":                      {"logfmt", "json"},
	"cloud":                       {"AzurePublic", "AzureChina", "AzureGovernment"},

	"scrape_protocols": {"PrometheusProto", "OpenMetricsText0.0.1", "OpenMetricsText1.0.0",
		"PrometheusText0.0.4", "PrometheusText1.0.0"},
	"scrape_fallback_protocol": {"PrometheusProto", "OpenMetricsText0.0.1", "OpenMetricsText1.0.0",
		"PrometheusText0.0.4", "PrometheusText1.0.0"},
	"metric_name_validation_scheme": {"legacy", "utf8"},
	"metric_name_escaping_scheme":   {"allow-utf-8", "underscores", "dots", "values"},
	"protobuf_message":              {"prometheus.WriteRequest", "io.prometheus.write.v2.Request"},
}

// roles are those of service discoveries.
var roles = map[string][]string{
	"kubernetes":  {"node", "pod", "service", "endpoints", "endpointslice", "ingress"},
	"dockerswarm": {"services", "tasks", "nodes"},
	"hetzner":     {"robot", "hcloud"},
	"openstack":   {"instance", "hypervisor"},
	"scaleway":    {"instance", "baremetal"},
	"triton":      {"container", "cn"},
}

// functions are those that agentry uses: the types of what they take and return. An empty type is any.
var functions = map[string]struct{ takes, returns string }{
	"sys.env":              {"string", "string"},
	"convert.nonsensitive": {"secret", "string"},
	"string.trim_space":    {"string", "string"},
	"coalesce":             {"string", "string"},
	"array.concat":         {"list(target)", "list(target)"},
}

// typeOf returns the type of an expression that is not a literal, or nothing if that was reported.
func (c *checker) typeOf(name string, e ast.Expr) string {
	switch e := e.(type) {
	case *ast.ParenExpr:
		return c.typeOf(name, e.Inner)
	case *ast.CallExpr:
		function, _ := pathOf(e.Value)
		f, ok := functions[function]
		if !ok {
			c.fail("%s: there is no function %s", name, function)
			return ""
		}
		for _, a := range e.Args {
			c.assign(name, a, f.takes)
		}
		return f.returns
	case *ast.UnaryExpr:
		c.assign(name, e.Value, "number")
		return "number"
	case *ast.BinaryExpr:
		c.assign(name, e.Left, "string")
		c.assign(name, e.Right, "string")
		return "string"
	}
	return c.reference(name, e)
}

// reference returns the type of an export.
func (c *checker) reference(name string, e ast.Expr) string {
	path, ok := pathOf(e)
	if !ok {
		c.fail("%s: an expression of type %T", name, e)
		return ""
	}
	if path == "constants.hostname" {
		return "string"
	}
	dot := strings.LastIndexByte(path, '.')
	b := c.blocks[path[:max(dot, 0)]]
	if b == nil {
		c.fail("%s refers to nothing: %s", name, path)
		return ""
	}
	kind, ok := catalogue.Get(strings.Join(b.Name, ".")).Exports[path[dot+1:]]
	if !ok {
		c.fail("%s refers to nothing: %s", name, path)
		return ""
	}
	c.uses[c.at] = append(c.uses[c.at], path[:dot])
	if kind == "secret-or-string" {
		kind = "string"
		if isSecret(b) {
			kind = "secret"
		}
	}
	return kind
}

func isSecret(b *ast.BlockStmt) bool {
	for _, s := range b.Body {
		if a, ok := s.(*ast.AttributeStmt); ok && a.Name.Name == "is_secret" {
			value, ok := a.Value.(*ast.LiteralExpr)
			return ok && value.Value == "true"
		}
	}
	return false
}
