// Package gittest provides real Git remotes for tests: bare repositories made by the git binary, git's HTTP backend
// behind a server on the loopback interface, and an OpenSSH server. They neither read nor write the user's
// configuration, and end with the test.
package gittest
