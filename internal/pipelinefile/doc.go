// Package pipelinefile reads pipeline files and the credentials that they point at.
//
// A file may hold several documents: a fleet. Everything in it must be known and right;
// what is not is a diagnostic at its file, line and column, and then nothing is
// returned. Credentials stay in memory: no diagnostic, error or log holds a byte of one.
package pipelinefile
