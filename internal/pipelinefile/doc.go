// Package pipelinefile reads pipeline files and the credentials that they name.
//
// A file can have several documents: a fleet. Every field must be known and valid. Errors are diagnostics with
// file, line and column, and no pipelines are returned with them. Credentials stay in memory: no diagnostic,
// error or log contains a byte of one.
package pipelinefile
