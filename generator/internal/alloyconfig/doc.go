// Package alloyconfig reads configurations in Alloy's language, in the form that generator/runtime/alloy prints them, back to what they do:
// instances with their jobs, rules, writers and clients, in the shape and the words of the Grafana Agent's configuration.
// So both can be compared in the same words.
//
// Components that several jobs share are a part of each of them. What is no part of an instance is in the list components.
// A [Job] is read when somebody needs it, because most jobs of two configurations are the same.
//
// [Blocks] loses nothing but spaces and comments.
package alloyconfig
