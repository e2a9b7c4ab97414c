package command

import (
	"context"
	"fmt"
	"io"

	"github.com/urfave/cli/v2"

	"github.com/agentry-dev/agentry/generator"
	"github.com/agentry-dev/agentry/generator/diag"
)

// Renders is what a command needs that prints something of a render. Such a command has a package of its own beside
// this one.
type Renders struct {
	Stdout, Stderr io.Writer
	// Flags are those that Render reads.
	Flags []cli.Flag
	// Render renders PATHs, or what a pass of the pipeline would write.
	Render func(ctx context.Context, flags *cli.Context, paths []string) (Rendered, error)
	// Found says how many errors and warnings there are. It returns the error that the command ends with, if any.
	Found func(diag.List) error
}

// Rendered is what was rendered. A unit that stays as it is on the output branch has no files.
type Rendered struct {
	Units []*generator.Unit
	Diags diag.List
}

// End ends a command that has printed its result: it points to what was found, and to units that are not in the result.
func (r Renders) End(of Rendered) error {
	for _, u := range of.Units {
		if u.Stays() {
			fmt.Fprintf(r.Stderr, "%s is not included: it is left unchanged on the output branch\n",
				diag.OneLine(u.Name))
		}
	}
	return r.Found(of.Diags)
}
