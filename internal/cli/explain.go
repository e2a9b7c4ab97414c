package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/explain"
	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/internal/cli/command"
	"github.com/agentry-dev/agentry/internal/cli/dryrun"
	"github.com/agentry-dev/agentry/internal/picture"
)

// explainCommand finds out what is asked and of whom, and prints the answer of package generator/explain.
func explainCommand(env Env) command.Command {
	return command.Command{
		Name:  "explain",
		Args:  "[KIND/NAMESPACE/NAME...] [PATH...]",
		Usage: "print why an object is selected or not, and what it renders to",
		Description: `For each object it prints every selector from the GrafanaAgent down with file, line and the
labels that decide; the selectors that miss it, nearest first, with the change that would
select it; its jobs, filters, limits, writers and Secrets by name; and where they are in which
output file. For a GrafanaAgent or an instance: all that it selects, and what takes most.

Kinds may be written as for kubectl: servicemonitor, smon. KIND/NAME is looked for in all
namespaces, and KIND is all of them. PATHs are folders or files; default: this folder.
As a picture, svg and dot show the selectors that lead to each object, and the way of each job
to its writers. docs/explain.md has examples.`,
		Example: "agentry explain servicemonitor/team-shop/checkout .",
		Flags: append([]cli.Flag{
			command.FormatFlag("explain"),
			&cli.StringFlag{Name: "selector", Aliases: []string{"l"},
				Usage: "only objects with labels that `SELECTOR` matches; without KIND: of all"},
			&cli.StringFlag{Name: "revision",
				Usage: "as it is in `REVISION` of the repository at hand"},
			&cli.StringFlag{Name: "server",
				Usage: "ask the agentry serve at `URL` about the last pass of --pipeline"},
		}, slices.Concat(dryFlags(), command.Rare(authorityFlags()...))...),
		Run: func(ctx context.Context, flags *cli.Context, args []string) error {
			return explainObjects(ctx, env, flags, args)
		},
	}
}

// question holds the objects to explain, and the inputs to read.
type question struct {
	references []string
	selector   labels.Selector
	text       string // of the selector
	paths      []string
}

func explainObjects(ctx context.Context, env Env, flags *cli.Context, args []string) error {
	format, err := command.Format(flags)
	if err != nil {
		return err
	}
	q, err := newQuestion(flags, args)
	if err != nil {
		return err
	}
	var found explain.List
	var inputs error
	if flags.String("server") != "" {
		err = askExplain(ctx, flags, q, &found)
	} else {
		inputs, err = explainHere(ctx, env, flags, q, &found)
	}
	if err != nil {
		return err
	}
	return errors.Join(env.printExplanations(found, format), inputs)
}

// objectsAndPaths tells references to objects from paths: what is on the disk is a path.
func objectsAndPaths(args []string) (references, paths []string, err error) {
	for _, arg := range args {
		_, missing := os.Stat(arg)
		word, rest, isReference := strings.Cut(arg, "/")
		_, isKind := explain.Kind(word)
		switch {
		case missing == nil || arg == "-":
			paths = append(paths, arg)
		case isKind:
			references = append(references, arg)
		case isReference && rest != "" && !strings.HasPrefix(word, ".") && word != "":
			return nil, nil, command.Usagef(cmp.Or(explain.DidYouMeanKind(word),
				"a KIND is one of "+strings.Join(manifest.Kinds(), ", ")),
				"%s is neither a path nor KIND/namespace/name", arg)
		default:
			paths = append(paths, arg) // which is an error of its own
		}
	}
	return references, paths, nil
}

func newQuestion(flags *cli.Context, args []string) (q question, err error) {
	if q.references, q.paths, err = objectsAndPaths(args); err != nil {
		return q, err
	}
	if q.text = flags.String("selector"); q.text != "" {
		if q.selector, err = labels.Parse(q.text); err != nil {
			return q, command.Usagef("write it like team=a or team in (a, b)", "--selector: %v", err)
		}
	}
	if len(q.references) == 0 && q.selector == nil {
		for _, arg := range q.paths {
			if _, err := os.Stat(arg); err != nil && arg != "-" {
				return q, command.Usagef("write KIND/namespace/name, such as servicemonitor/team-shop/"+path.Base(arg),
					"%s is neither a path nor KIND/namespace/name", arg)
			}
		}
		return q, command.Usagef(
			"name KIND/namespace/name, such as servicemonitor/team-shop/checkout; agentry tree prints all objects",
			"nothing to explain is named")
	}
	return q, nil
}

// explainHere explains what is rendered here. The error inputs is about the inputs: what is rendered in spite of it is
// explained.
func explainHere(ctx context.Context, env Env, flags *cli.Context, q question, found *explain.List) (inputs,
	err error) {
	runs, done, err := env.dry(ctx, flags, q.paths, mayBeEmpty, func(r *dryrun.Request) {
		r.Whole, r.Here, r.Revision = true, true, flags.String("revision")
	})
	if err != nil {
		return nil, err
	}
	defer done()
	rendered, err := env.rendered(runs)
	if err != nil {
		return nil, err
	}
	if found.Items, err = explainAll(rendered, q, len(runs) > 1); err != nil {
		return nil, env.refused(runs, err)
	}
	all := dryrun.Findings(runs)
	env.pointToCheck(all)
	env.used(runs)
	if !haveAgent(rendered) && slices.ContainsFunc(found.Items, isMissed) {
		fmt.Fprintln(env.Stderr, withoutAgent("explain", q))
	}
	return verdict(all, false), nil
}

// explainAll explains the objects of a question in each run that has them, with the name of the pipeline if it is one
// of several. If none has, the error says what they may be.
func explainAll(runs []*dryrun.Run, q question, isOfSeveral bool) (items []*explain.Explanation, err error) {
	for _, run := range runs {
		w := explain.New(*run.Report.Explained)
		ids, failed := resolve(w, q.references, q.selector)
		if failed != nil {
			err = failed
			continue
		}
		for _, id := range ids {
			if e, ok := w.Explain(id); ok {
				if isOfSeveral {
					e.RenderedBy = run.Pipeline.Metadata.Name
				}
				items = append(items, e)
			}
		}
	}
	if len(items) > 0 {
		err = nil
	}
	return items, err
}

// resolve returns the objects that references name, of those with the labels that a selector wants.
func resolve(x *explain.Explainer, references []string, s labels.Selector) ([]manifest.ID, error) {
	ids, err := x.Resolve(references, s)
	if unknown, ok := errors.AsType[*explain.UnknownError](err); ok {
		err = command.Usagef(unknown.Hint, "%s", unknown.Message)
	}
	return ids, err
}

func haveAgent(runs []*dryrun.Run) bool {
	return slices.ContainsFunc(runs, func(run *dryrun.Run) bool {
		return slices.ContainsFunc(run.Report.Set.All(), isAgent)
	})
}

func isAgent(o *manifest.Object) bool { return o.Kind == "GrafanaAgent" }

func isMissed(e *explain.Explanation) bool { return e.State == explain.NotSelected }

// withoutAgent says that nothing in the paths can select an object, and what to type instead to ask a command.
func withoutAgent(name string, q question) string {
	where := "below this folder"
	if len(q.paths) > 0 && !slices.Equal(q.paths, []string{"."}) {
		where = "in " + strings.Join(q.paths, " ")
	}
	way := "name the folder that has one as well"
	if up := dryrun.Up(); up != "" {
		words := append([]string{"agentry", name}, q.references...)
		if q.text != "" {
			words = append(words, "-l '"+q.text+"'")
		}
		way = "run it at the top of the repository: " + strings.Join(append(words, up), " ")
	}
	return diag.OneLine("no GrafanaAgent " + where + "; " + way)
}

// askExplain asks a running service.
func askExplain(ctx context.Context, flags *cli.Context, q question, found *explain.List) error {
	if len(q.paths) > 0 || flags.String("revision") != "" || flags.String("file") != "" {
		return command.Usagef("leave out one of them", "--server is given, and something else to explain")
	}
	query := url.Values{"object": q.references}
	if q.text != "" {
		query.Set("selector", q.text)
	}
	return askPipeline(ctx, flags, func(pipeline string) string {
		return "/api/v1/pipelines/" + url.PathEscape(pipeline) + "/explain?" + query.Encode()
	}, found)
}

// explanationSeparator stands between the explanations of several objects.
const explanationSeparator = "\n---\n\n"

func (e Env) printExplanations(found explain.List, format string) error {
	switch {
	case format == "svg":
		return picture.ExplanationsSVG(e.Stdout, found.Items)
	case format == "dot":
		return picture.ExplanationsDOT(e.Stdout, found.Items)
	case command.IsData(format):
		return command.WriteData(e.Stdout, format, found)
	}
	var texts []string
	for _, x := range found.Items {
		texts = append(texts, x.Text())
	}
	_, err := io.WriteString(e.Stdout, strings.Join(texts, explanationSeparator))
	return err
}
