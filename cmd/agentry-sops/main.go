// Command agentry-sops decrypts SOPS files for agentry, which starts it: see package inputs/sops. It does nothing else.
package main

import (
	"os"

	"github.com/agentry-dev/agentry/inputs/sops"
	"github.com/agentry-dev/agentry/inputs/sops/sopsworker"
)

func main() { os.Exit(sopsworker.Serve(os.Stdin, os.Stdout, sops.Limits{})) }
