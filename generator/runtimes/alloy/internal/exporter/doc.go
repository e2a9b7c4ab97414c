// Package exporter maps the agent's integrations to components of Alloy: one table has the component of each, and the
// names of its settings there. It turns the configuration of an integration into arguments of the component.
//
// What a component does not have is a problem at the field, never silently dropped. Defaults that differ are written
// out. Arguments are values of a model, so that variables and credentials are treated as everywhere else.
package exporter
