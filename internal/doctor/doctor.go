package doctor

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/agentry-dev/agentry/gitsync"
	"github.com/agentry-dev/agentry/gitsync/pipeline"
	"github.com/agentry-dev/agentry/inputs/helm"
	"github.com/agentry-dev/agentry/inputs/sops"
	"github.com/agentry-dev/agentry/internal/forge"
	"github.com/agentry-dev/agentry/internal/pipelinefile"
)

// DefaultTimeout limits each request to a server.
const DefaultTimeout = 20 * time.Second

// File is a pipeline file that was read.
type File struct {
	Name string
	Data []byte
	Err  error // error from reading it
}

// Options has what checks need from outside.
type Options struct {
	Getenv pipelinefile.Getenv
	// CacheDir is the folder in which repositories are cached.
	CacheDir string
	// Timeout limits each request to a server. Default: DefaultTimeout.
	Timeout time.Duration
	// Now is the clock to compare with the clocks of servers. Default: time.Now.
	Now func() time.Time
	// SOPS and Charts start the helper programs.
	SOPS   sops.Options
	Charts helm.Options
}

// examiner runs the checks of one [Run].
type examiner struct {
	Options
	sites  forge.Sites
	sops   *sops.Workers
	charts *helm.Workers
	asked  []*answer
	clocks map[string]Result // by host
	// rendersCharts is the result of checking the program that renders charts, which all pipelines share.
	rendersCharts *Result
}

// Run checks all pipelines of files, in their order, and then the machine.
func Run(ctx context.Context, files []File, options Options) []Result {
	if options.Timeout <= 0 {
		options.Timeout = DefaultTimeout
	}
	if options.Now == nil {
		options.Now = time.Now
	}
	e := &examiner{Options: options, clocks: map[string]Result{}, sops: sops.NewWorkers(options.SOPS),
		charts: helm.NewWorkers(options.Charts)}
	defer e.sops.Close()
	defer e.charts.Close()
	fleet, results := parse(files)
	fleet, found := e.expand(ctx, fleet)
	results = append(results, found...)
	for _, p := range fleet {
		of := slices.Concat(e.pipeline(ctx, p), branches(p, fleet), folders(p), readers(p, fleet))
		for i := range of {
			of[i].Pipeline = p.Metadata.Name
		}
		results = append(results, of...)
	}
	return append(results, e.machine()...)
}

// parse reads the pipelines of files.
func parse(files []File) (fleet []*pipelinefile.Pipeline, results []Result) {
	for _, f := range files {
		if f.Err != nil {
			results = append(results, failed(checkFile, f.Name, f.Err.Error(),
				"name a pipeline file, or a folder of them"))
			continue
		}
		pipelines, found := pipelinefile.Parse(f.Name, f.Data)
		for _, d := range found {
			results = append(results, ofFile(f.Name, d))
		}
		if len(pipelines) > 0 {
			results = append(results, ok(checkFile, f.Name, "is valid: "+names(pipelines)))
		}
		fleet = append(fleet, pipelines...)
	}
	return fleet, results
}

// maxNames limits the pipelines that a message names.
const maxNames = 10

func names(fleet []*pipelinefile.Pipeline) string {
	var out []string
	for _, p := range fleet {
		out = append(out, p.Metadata.Name)
	}
	if more := len(out) - maxNames; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(out[:maxNames], ", "), more)
	}
	return strings.Join(out, ", ")
}

// expand replaces templates by the pipelines of their folders, and reports conflicts between all pipelines.
func (e *examiner) expand(ctx context.Context, fleet []*pipelinefile.Pipeline) ([]*pipelinefile.Pipeline, []Result) {
	var results []Result
	made, found, err := pipelinefile.Expand(ctx, fleet,
		pipelinefile.ExpandOptions{CacheDir: e.CacheDir, Getenv: e.Getenv})
	for _, d := range found {
		results = append(results, ofFile(d.File, d))
	}
	if err != nil {
		results = append(results, failed(checkFile, "spec.forEach", err.Error(), pipeline.Remedy(err)))
	}
	return made, results
}

// pipeline runs the checks of one pipeline.
func (e *examiner) pipeline(ctx context.Context, p *pipelinefile.Pipeline) []Result {
	if p.Spec.ForEach != "" { // Expand keeps it if it is suspended
		return []Result{skipped(checkFile, "spec.forEach", "the pipeline is suspended, so its folders are not listed",
			"")}
	}
	var results []Result
	named := p.Named(e.Getenv)
	for _, n := range named {
		results = append(results, ofCredential(n))
	}
	creds, _ := p.Credentials(e.Getenv) // named has the errors
	secrets, _ := p.Secrets(e.Getenv)
	return slices.Concat(results,
		e.sources(ctx, p, creds, named),
		e.output(ctx, p, creds, named),
		webhooks(p, secrets),
		e.forges(ctx, p, secrets, named),
		keys(p, creds, named),
		e.decryption(ctx, p, creds, named),
		e.encryption(ctx, p, creds, named),
		e.helmCharts(ctx, p),
		e.remotes(ctx, p, creds, named),
		clusterState(ctx, p),
	)
}

// keys checks the keys for signing and verifying commits.
func keys(p *pipelinefile.Pipeline, creds gitsync.Credentials, named []pipelinefile.Named) (results []Result) {
	const signing = "spec.output.commit.signingKey"
	switch _, err := creds.Signing.Signer(); {
	case unreadable(named, signing):
		results = append(results, skipped(checkSigning, signing, "the key cannot be read", ""))
	case err != nil:
		results = append(results, failed(checkSigning, signing, err.Error(),
			"use a private SSH key or an armoured private PGP key, with its passphrase if it has one"))
	case len(creds.Signing.Key) > 0:
		results = append(results, ok(checkSigning, signing, "the key has signed a text"))
	}
	for i, ring := range creds.Verify {
		at := fmt.Sprintf("spec.sources[%d].verify", i)
		switch _, err := ring.Verifier(); {
		case p.Spec.Sources[i].Verify == nil:
		case unreadable(named, at):
			results = append(results, skipped(checkVerify, at, "the keys cannot be read", ""))
		case err != nil:
			results = append(results, failed(checkVerify, at, err.Error(),
				"use the format of ssh-keygen -Y verify for allowedSigners, and of gpg --armor --export for PGP keys"))
		default:
			results = append(results, ok(checkVerify, at, "the keys are usable"))
		}
	}
	return results
}

// unreadable reports whether a credential at or below a field cannot be read.
func unreadable(named []pipelinefile.Named, field string) bool {
	return slices.ContainsFunc(named, func(n pipelinefile.Named) bool {
		return n.Problem != nil && strings.HasPrefix(n.Field, field)
	})
}
