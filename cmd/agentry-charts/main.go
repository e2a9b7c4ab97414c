// Command agentry-charts renders Helm charts for agentry, which starts it: see package inputs/helm. It does nothing
// else.
package main

import (
	"os"

	"github.com/agentry-dev/agentry/inputs/helm"
	"github.com/agentry-dev/agentry/inputs/helm/helmworker"
)

func main() { os.Exit(helmworker.Serve(os.Stdin, os.Stdout, helm.Limits{})) }
