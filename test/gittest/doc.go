// Package gittest gives tests real Git remotes: bare repositories made by the
// git binary, git's own HTTP backend behind a server on the loopback interface,
// and an OpenSSH server. Nothing of it reads or writes the user's configuration,
// and all of it ends with the test.
package gittest
