// Package agent is the Grafana Agent (static mode, v0.44.8) as a runtime: it prints a model as the agent's
// configuration file.
//
// Three readers process the file: the config reloader replaces $(NAME) by environment variables, the agent replaces
// ${NAME} and $$ (-config.expand-env), and yaml.v2 decodes the result by the rules of YAML 1.1. So that a string
// arrives unchanged, it is quoted if a plain scalar would change, and a dollar that would be expanded is written as
// \x24. Where expansion is wanted ([model.Expandable], integrations), dollars stay.
//
// Printing is deterministic: keys have a fixed order, maps are sorted. There is no reflection: a YAML library needs
// milliseconds for a monitor, this package microseconds.
package agent
