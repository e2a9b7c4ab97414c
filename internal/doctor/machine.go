package doctor

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/agentry-dev/agentry/gitsync"
	"github.com/agentry-dev/agentry/gitsync/pipeline"
	"github.com/agentry-dev/agentry/inputs/helm"
	"github.com/agentry-dev/agentry/inputs/sops"
	"github.com/agentry-dev/agentry/internal/pipelinefile"
	"github.com/agentry-dev/agentry/internal/worker"
)

const (
	// maxClockOffset is the largest accepted difference between clocks.
	maxClockOffset = 30 * time.Second
	// leastCacheBytes is the free space that passes need to work at all. With less than enoughCacheBytes, large
	// repositories may fill the disk.
	leastCacheBytes  = 100 << 20
	enoughCacheBytes = 1 << 30
)

// decryption checks the SOPS keys in the pipeline, with the program that uses them.
func (e *examiner) decryption(ctx context.Context, p *pipelinefile.Pipeline, creds gitsync.Credentials,
	named []pipelinefile.Named) []Result {
	const at = "spec.decryption"
	isNamed := p.Spec.Decryption != pipeline.Decryption{}
	switch {
	case !isNamed && !p.Spec.Secrets.Allows(pipeline.SecretsPlaintext) && !p.Spec.Secrets.Seals():
		return nil // nothing is decrypted
	case unreadable(named, at):
		return []Result{skipped(checkSOPS, at, "the keys cannot be read", "")}
	}
	ctx, cancel := context.WithTimeout(ctx, e.Timeout)
	defer cancel()
	unusable, err := e.sops.Check(ctx, creds.Decryption)
	_, missing := errors.AsType[*worker.Missing](err)
	switch {
	case missing && isNamed:
		return []Result{failed(checkSOPS, at, "the program "+sops.Program+", which decrypts, is missing",
			install(sops.Program))}
	case missing:
		return []Result{skipped(checkSOPS, at,
			"the program "+sops.Program+" is missing; it is needed only if the inputs have SOPS files",
			install(sops.Program))}
	case err != nil:
		return []Result{failed(checkSOPS, at, err.Error(), install(sops.Program))}
	case len(unusable) > 0:
		return []Result{failed(checkSOPS, at, strings.Join(unusable, "; "),
			"use age identities, a private SSH key without a passphrase, or an armoured private PGP key")}
	case !isNamed:
		return []Result{ok(checkSOPS, at, sops.Program+" works; it uses the keys that the program sops would find")}
	}
	return []Result{ok(checkSOPS, at, fmt.Sprintf("%s reads the keys: %d", sops.Program, len(creds.Decryption)))}
}

// encryption encrypts a text for the recipients of the policy sops. Recipients in creation rules depend on the file.
func (e *examiner) encryption(ctx context.Context, p *pipelinefile.Pipeline, creds gitsync.Credentials,
	named []pipelinefile.Named) []Result {
	const at = "spec.secrets.sops"
	switch {
	case !p.Spec.Secrets.Seals():
		return nil
	case unreadable(named, at):
		return []Result{skipped(checkSOPS, at, "its file or variable cannot be read", "")}
	}
	all := creds.Sealing.Rules.All()
	if own := p.Spec.Secrets.SOPS.Recipients(); !own.IsEmpty() {
		all = []sops.Recipients{own}
	}
	ctx, cancel := context.WithTimeout(ctx, e.Timeout)
	defer cancel()
	for _, to := range all {
		sealed, err := e.sops.Encrypt(ctx, to, [][]byte{[]byte("kind: Secret\nstringData: {a: b}\n")})
		if err != nil {
			return []Result{failed(checkSOPS, at, err.Error(), install(sops.Program))}
		}
		if reason := sealed[0].Reason; reason != "" {
			return []Result{failed(checkSOPS, at, "a Secret cannot be encrypted: "+reason,
				"correct the recipients; for keys in a cloud, in Vault or in GnuPG, check the environment as sops "+
					"needs it")}
		}
	}
	return []Result{ok(checkSOPS, at, sops.Program+" encrypts for the recipients")}
}

func install(program string) string {
	return "install " + program + " of the same version beside agentry"
}

// helmCharts checks the program that renders charts. If the pipeline names no chart repositories, only the inputs show
// whether there are charts.
func (e *examiner) helmCharts(ctx context.Context, p *pipelinefile.Pipeline) []Result {
	const at = "spec.charts"
	isPlain := !slices.ContainsFunc(p.Spec.Sources, func(s pipeline.Source) bool {
		return s.Build != pipeline.BuildPlain
	})
	if isPlain {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, e.Timeout)
	defer cancel()
	if e.rendersCharts == nil {
		r := ok(checkCharts, at, helm.Program+" renders a chart")
		err := e.charts.Check(ctx)
		if _, missing := errors.AsType[*worker.Missing](err); missing {
			r = skipped(checkCharts, at, "the program "+helm.Program+
				" is missing; it is needed only if the inputs have Helm charts", install(helm.Program))
		} else if err != nil {
			r = failed(checkCharts, at, err.Error(), install(helm.Program))
		}
		e.rendersCharts = &r
	}
	r := *e.rendersCharts
	if r.State == Skipped && len(p.Spec.Charts.Repositories) > 0 {
		r.State, r.Message = Failed, "the program "+helm.Program+", which renders charts, is missing"
	}
	return []Result{r}
}

// compareClock compares this machine's clock with a server's. The server's header has a resolution of one second.
func (e *examiner) compareClock(host, date string) {
	theirs, err := http.ParseTime(date)
	if err != nil {
		return
	}
	off := e.Now().Sub(theirs)
	r := ok(checkClock, host, fmt.Sprintf("this machine's clock and the server's differ by less than %s",
		maxClockOffset))
	if off.Abs() > maxClockOffset {
		word := "ahead of"
		if off < 0 {
			word = "behind"
		}
		r = warned(checkClock, host, fmt.Sprintf("this machine's clock is %s %s the server's",
			off.Abs().Round(time.Second), word),
			"synchronise it, for example with chrony or systemd-timesyncd: signatures, GitHub App tokens and "+
				"certificates depend on the time")
	}
	e.clocks[host] = r
}

// machine returns the results of the checks that are independent of pipelines.
func (e *examiner) machine() []Result {
	var results []Result
	for _, host := range slices.Sorted(maps.Keys(e.clocks)) {
		results = append(results, e.clocks[host])
	}
	if len(results) == 0 {
		results = append(results, skipped(checkClock, "", "no server has reported its time", ""))
	}
	return append(results, cache(e.CacheDir, freeBytes))
}

// cache checks that the cache folder is writable and has room.
func cache(folder string, free func(folder string) (uint64, error)) Result {
	const remedy = "make room there, or set another folder with --cache-dir"
	if err := tryWriting(folder); err != nil {
		return failed(checkCache, folder, err.Error(),
			"let the user who runs agentry write there, or set another folder with --cache-dir")
	}
	bytes, err := free(folder)
	switch {
	case errors.Is(err, errors.ErrUnsupported):
		return skipped(checkCache, folder, "is writable; its free space is unknown on this system", "")
	case err != nil:
		return failed(checkCache, folder, "its free space is unknown: "+err.Error(), "")
	case bytes < leastCacheBytes:
		return failed(checkCache, folder,
			fmt.Sprintf("has %d MiB free, less than %d MiB", bytes>>20, leastCacheBytes>>20), remedy)
	case bytes < enoughCacheBytes:
		return warned(checkCache, folder, fmt.Sprintf("has %d MiB free, which large repositories may fill", bytes>>20),
			remedy)
	}
	return ok(checkCache, folder, fmt.Sprintf("is writable, and has %d MiB free", bytes>>20))
}

// tryWriting writes a file and removes it.
func tryWriting(folder string) error {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(folder, ".doctor-*")
	if err != nil {
		return err
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}
