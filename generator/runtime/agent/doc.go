// Package agentyaml is the configuration file of the Grafana Agent (static mode,
// v0.44.8) as plain structs, and the one encoder that writes them.
//
// The file passes through three readers, and the encoder knows all of them: the
// config reloader replaces $(NAME) by environment variables, the agent replaces
// ${NAME} and $$ (-config.expand-env), and yaml.v2 decodes what is left, by the rules
// of YAML 1.1. A string is therefore written so that it arrives as it was given: quoted
// where a plain scalar would become something else, and with \x24 for a dollar that
// either expansion would touch. Fields of type [Live] are the exception: there the
// expansions are wanted.
//
// Encoding is deterministic: keys stand in a fixed order, maps are sorted. There is no
// reflection; what costs a YAML library milliseconds per monitor costs microseconds here.
package agent
