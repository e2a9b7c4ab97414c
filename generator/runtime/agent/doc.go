// Package agent is the Grafana Agent (static mode, v0.44.8) as a runtime: it prints a model as
// the agent's configuration file.
//
// The file passes through three readers, and the printer knows all of them: the config reloader
// replaces $(NAME) by environment variables, the agent replaces ${NAME} and $$
// (-config.expand-env), and yaml.v2 decodes what is left, by the rules of YAML 1.1. A string is
// therefore written so that it arrives as it was given: quoted where a plain scalar would become
// something else, and with \x24 for a dollar that either expansion would touch. Where the
// expansions are wanted ([model.Expandable], integrations), dollars stay.
//
// Printing is deterministic: keys stand in a fixed order, maps are sorted. There is no
// reflection; what costs a YAML library milliseconds per monitor costs microseconds here.
package agent
