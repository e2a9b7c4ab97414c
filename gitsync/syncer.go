package gitsync

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"time"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/agentry-dev/agentry/generator"
	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/generator/secretref"
	"github.com/agentry-dev/agentry/gitsync/branch"
	"github.com/agentry-dev/agentry/gitsync/internal/blame"
	"github.com/agentry-dev/agentry/gitsync/internal/lastgood"
	"github.com/agentry-dev/agentry/gitsync/pipeline"
	"github.com/agentry-dev/agentry/gitsync/plan"
	"github.com/agentry-dev/agentry/gitsync/publish"
	"github.com/agentry-dev/agentry/gitsync/repo"
	"github.com/agentry-dev/agentry/gitsync/repo/object"
	"github.com/agentry-dev/agentry/gitsync/repo/transport"
	"github.com/agentry-dev/agentry/gitsync/signature"
	"github.com/agentry-dev/agentry/gitsync/source"
	"github.com/agentry-dev/agentry/inputs/chart"
	"github.com/agentry-dev/agentry/inputs/chart/signed"
	"github.com/agentry-dev/agentry/inputs/helm"
	"github.com/agentry-dev/agentry/inputs/kustomizer"
	"github.com/agentry-dev/agentry/inputs/sops"
	"github.com/agentry-dev/agentry/internal/panics"
)

// Credentials are the resolved credentials of a pipeline.
type Credentials struct {
	Sources []transport.Auth    // in the pipeline's order; without any, all are read anonymously
	Output  transport.Auth      // writes the output, and reads it if it is not a source
	Signing signature.Key       // signs the commits, if there is one
	Verify  []signature.Keyring // the keys of each source; an empty keyring accepts any commit
	Charts  []chart.Access      // of the repositories of charts, in the pipeline's order
	Signers []signed.Keyring    // of charts.verify, in the pipeline's order
	Bases   []Base              // of build.remotes, in the pipeline's order

	Decryption []sops.Key // for what SOPS encrypted
	Sealing    Sealing    // for the secrets policy sops
}

// Options decide how passes are made, not their results.
type Options struct {
	// Pool holds the repositories and outlives the Syncer. Default: a pool in CacheDir that the Syncer owns.
	Pool *repo.Pool `json:"-"`
	// CacheDir holds the caches of the repositories if there is no Pool.
	CacheDir string
	// Gate is called before a pass reads and renders, and released while the pass waits for the network. It limits
	// how many passes of a process compute at once. Default: no limit.
	Gate func(context.Context) (release func(), err error) `json:"-"`
	// Batches collect what pipelines of one repository write to the same refs. Default: each pass writes its own.
	Batches *publish.Batches `json:"-"`
	// Charts renders Helm charts, and outlives the Syncer. Default: processes that the Syncer owns.
	Charts *helm.Workers `json:"-"`
	// Kustomize builds kustomizations, and outlives the Syncer. Default: processes that the Syncer owns.
	Kustomize *kustomizer.Workers `json:"-"`
	// SOPS decrypts what SOPS encrypted, and outlives the Syncer. Default: processes that the Syncer owns.
	SOPS *sops.Workers `json:"-"`
	// ChartStore keeps charts that are fetched, and outlives the Syncer. Default: one in the folder of the Pool.
	ChartStore *chart.Store `json:"-"`
	// OnlyCachedCharts fetches no chart: those that are not in the store are findings.
	OnlyCachedCharts bool
	// AllowPrivateCharts allows repositories of charts that the pipeline does not name to have private addresses.
	AllowPrivateCharts bool
	// AnyRemote fetches whatever kustomizations name as resources and bases from public addresses, although no entry of
	// build.remotes allows it.
	AnyRemote bool
	// AllowPrivateRemotes lets AnyRemote fetch from addresses that are not public.
	AllowPrivateRemotes bool
	// KeepCharts looks up only charts that are new, and uses the versions that are pinned of others.
	KeepCharts bool
	// KeepBytes is about how many bytes of objects each source keeps in memory. Others are read again from the cache
	// where they are needed. Default: [source.DefaultKeepBytes].
	KeepBytes int64
	// Version of agentry, for the trailers of commits.
	Version string
	// DryRun does everything except the push, and counts changed lines.
	DryRun bool
	// SourceRefs replace refs of sources in dry runs, by the index of the source, to show what merging them would
	// change. Nothing else differs: the stand-ins are the same.
	SourceRefs map[int]repo.Ref
	// Local are the sources that dry runs read from this machine in place of their refs, by the index of the source.
	Local map[int]Local `json:"-"`
	// Offline makes dry runs that send no request to a Git server: the output branch counts as missing, and each source
	// needs to be local.
	Offline bool
	// NoDifference leaves out of the report of a dry run which files change and what that means, with the findings
	// about it.
	NoDifference bool
	// ReportRendered fills Report.Rendered. It needs DryRun.
	ReportRendered bool
	// Keep says which files of the sources Report.Kept has, by their texts. Default: none.
	Keep func(text []byte) bool `json:"-"`
	// ShowSecrets leaves Secrets in clear in Report.Rendered under the secrets policy sops. It is for package
	// difference, which shows no value of them.
	ShowSecrets bool
	// OnlyAgent renders for the Grafana Agent, whatever the pipeline and GrafanaAgents choose. It is for package
	// hierarchytest.
	OnlyAgent bool
	// Encrypt makes a dry run encrypt Secrets under the secrets policy sops. Otherwise it shows placeholders for their
	// values.
	Encrypt bool
	// Encrypted returns a version of an encrypted Secret that is not on the output branch and may be used again, by its
	// path on the branch; nil if there is none. It is for dry runs.
	Encrypted func(name string) ([]byte, error) `json:"-"`
	// AllowDeletions is the full id of an input commit to which the deletion guard does not apply.
	AllowDeletions string
	// Timeout limits each attempt of a pass, with all of its network operations. Each source may use an equal share
	// of it, so that the pass can go on without a source that does not answer. Default: 10 minutes.
	Timeout time.Duration
	// RequestTimeout limits the requests to each repository. Default: the share of a source; none for the output.
	RequestTimeout time.Duration
	// Repo limits what is fetched if there is no Pool.
	Repo repo.Options
}

// Local is a commit that a dry run reads from this machine. Its signature is not verified.
type Local struct {
	Commit  plumbing.Hash
	Objects object.Objects
	// Tags are those of the commit, or of the one that is checked out, which custom resources may name.
	Tags []string
	// Label is the source in findings about its files.
	Label string
	// Paths are where [Options.Keep] looks besides the paths of the source.
	Paths []string
}

// defaultTimeout is the default of Options.Timeout.
const defaultTimeout = 10 * time.Minute

// maxAttempts limits how often a pass is tried when others push to the branch at the same time.
const maxAttempts = 5

// Syncer makes passes of one pipeline. It is not safe for concurrent use.
type Syncer struct {
	pipeline pipeline.Pipeline
	options  Options
	render   generator.Options
	sources  source.Sources
	remotes
	creds         Credentials
	sign          signature.Func      // nil: commits are not signed
	own           *repo.Pool          // nil if Options has one
	charts        *helm.Workers       // nil if Options has them
	kustomize     *kustomizer.Workers // nil if Options has them
	chartVersions *chart.Versions     // of the charts and bases that are fetched
	bases         *bases              // of kustomizations; nil if none is fetched
	sops          *sops.Workers       // nil if Options has them
	decrypter     sops.Decrypter      // of what SOPS encrypted
	fileDecrypter *sops.FileDecrypter // of what decides what is built
	sealing       sealing             // of the output
	batches       *publish.Batches
	memory        memory
	stored        stored
	seen          plumbing.Hash // the last tip of the output branch that was as this pipeline renders it; zero: none
}

// memory has the caches of the stages, which make later passes cheap. The sources have their own.
type memory struct {
	branch   branch.Cache
	lastGood lastgood.Cache
	output   plan.Memory
	noted    publish.LastNote
	blame    blame.Memory
	done     *done
}

// New returns a Syncer for a pipeline, which must be valid and have its defaults. It uses no network.
func New(p pipeline.Pipeline, creds Credentials, opts Options) (*Syncer, error) {
	if opts.Timeout <= 0 {
		opts.Timeout = defaultTimeout
	}
	s := &Syncer{pipeline: p, options: opts}
	if opts.Pool == nil {
		s.own = repo.NewPool(opts.CacheDir, opts.Repo)
		s.options.Pool = s.own
	}
	if opts.Charts == nil {
		s.charts = helm.NewWorkers(helm.Options{})
		s.options.Charts = s.charts
	}
	if opts.Kustomize == nil {
		s.kustomize = kustomizer.NewWorkers(kustomizer.Options{})
		s.options.Kustomize = s.kustomize
	}
	if opts.SOPS == nil {
		s.sops = sops.NewWorkers(sops.Options{})
		s.options.SOPS = s.sops
	}
	s.decrypter.Workers = s.options.SOPS
	if opts.ChartStore == nil {
		s.options.ChartStore = chart.NewStore(chart.Options{Folder: filepath.Join(s.options.Pool.Dir(), "charts")})
	}
	if s.batches = opts.Batches; s.batches == nil {
		s.batches = publish.NewBatches(0)
	}
	spec := &s.pipeline.Spec
	err := spec.Output.CheckProposedBranch()
	if err != nil {
		return nil, fmt.Errorf("pipeline %s: %w", p.Metadata.Name, err)
	}
	s.sources.Namespaces = manifest.Namespaces(spec.Namespaces, "namespaces of the pipeline").Objects
	if s.render, err = RenderOptions(&s.pipeline); err != nil {
		return nil, fmt.Errorf("pipeline %s: %w", p.Metadata.Name, err)
	}
	if opts.OnlyAgent {
		s.render.Runtimes = generator.OnlyAgent()
	}
	s.bases = newBases(spec.Build, &s.options)
	if s.chartVersions, err = newVersions(s.options, spec.Charts.Update, s.bases); err != nil {
		return nil, fmt.Errorf("pipeline %s: charts.update %w", p.Metadata.Name, err)
	}
	charts := &chart.Renderer{Workers: s.options.Charts, Cluster: spec.Cluster, Charts: s.chartVersions.Now()}
	s.fileDecrypter = &sops.FileDecrypter{Workers: s.options.SOPS,
		RendersValues: spec.Secrets.Allows(secretref.Plaintext) || spec.Secrets.Seals()}
	for _, src := range spec.Sources {
		s.sources.List = append(s.sources.List, &source.Source{Source: src, BuildSpec: spec.Build,
			Output: spec.Output, KeepBytes: cmp.Or(opts.KeepBytes, source.DefaultKeepBytes),
			Kustomize: s.options.Kustomize, Charts: charts, Secrets: s.fileDecrypter})
	}
	s.sources.Mount(spec)
	if s.stored, err = newStored(&s.pipeline, &s.options); err != nil {
		return nil, fmt.Errorf("pipeline %s: %w", p.Metadata.Name, err)
	}
	if err := s.SetCredentials(creds); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// Close releases connections and files. The caches stay.
func (s *Syncer) Close() {
	s.store()
	if s.output != nil {
		s.batches.Remove(s.pipeline.Metadata.Name, s.output)
	}
	s.remotes.close()
	s.bases.close()
	if s.charts != nil {
		s.charts.Close()
	}
	if s.kustomize != nil {
		s.kustomize.Close()
	}
	if s.sops != nil {
		s.sops.Close()
	}
	if s.own != nil {
		s.own.Close()
	}
}

// Pass fetches, renders and pushes once. It returns an error if a repository could not be read or written. Errors in
// the inputs are in the report.
func (s *Syncer) Pass(ctx context.Context) (*Report, error) {
	return s.PassSince(ctx, time.Now())
}

// PassSince is like Pass but reuses ref listings newer than since: the pipelines of one round share them. If
// nothing has changed since the last pass, it makes no request of its own.
func (s *Syncer) PassSince(ctx context.Context, since time.Time) (*Report, error) {
	return repo.Retry(ctx, maxAttempts, since, s.attempt)
}

// attempt makes a pass on the current tip.
func (s *Syncer) attempt(ctx context.Context, since time.Time) (report *Report, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, s.options.Timeout,
		fmt.Errorf("%w %s", pipeline.ErrLate, s.options.Timeout))
	defer cancel()
	output := &s.pipeline.Spec.Output
	p := &pass{Syncer: s, since: since, gate: gate{wait: s.options.Gate}, report: &Report{
		Pipeline: s.pipeline.Metadata.Name, DryRun: s.options.DryRun,
		Output: OutputStatus{URL: s.output.URL(), Branch: output.Branch, Path: output.Path},
	}}
	defer func() {
		value := recover()
		if value == nil {
			return
		}
		lost := panics.Of(value)
		if panics.Is(lost) {
			panic(lost)
		}
		s.Forget() // an object of an earlier pass cannot be read again
		s.stored.drop()
		report, err = p.report, lost
	}()
	err = p.run(ctx)
	p.report.enter("")
	return p.report, err
}
