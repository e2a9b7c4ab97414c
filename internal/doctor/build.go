package doctor

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"

	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/gitsync"
	"github.com/agentry-dev/agentry/gitsync/pipeline"
	"github.com/agentry-dev/agentry/gitsync/repo/transport"
	"github.com/agentry-dev/agentry/inputs"
	"github.com/agentry-dev/agentry/inputs/tree"
	"github.com/agentry-dev/agentry/internal/httpclient"
	"github.com/agentry-dev/agentry/internal/pipelinefile"
)

// remotes checks that what build.remotes allows can be reached. An entry that ends in a slash, or is only a host, is
// above repositories: then the server's answer that there is no repository is enough.
func (e *examiner) remotes(ctx context.Context, p *pipelinefile.Pipeline, creds gitsync.Credentials,
	named []pipelinefile.Named) (results []Result) {
	for i, r := range p.Spec.Build.Remotes {
		at := fmt.Sprintf("spec.build.remotes[%d]", i)
		if unreadable(named, at+".auth") {
			results = append(results, skipped(checkRemotes, at, "its credential cannot be read", ""))
			continue
		}
		results = append(results, e.remote(ctx, at, r, creds.Bases[i].Auth))
	}
	return results
}

func (e *examiner) remote(ctx context.Context, at string, r pipeline.Remote, auth transport.Auth) Result {
	repository := r.URL
	u, err := url.Parse(r.URL)
	isAbove := err == nil && strings.HasSuffix(u.Path, "/") || err == nil && u.Path == "" && u.Host != ""
	if isAbove {
		repository = strings.TrimSuffix(r.URL, "/") + "/-" // a whole host, too
	}
	if isFile := err == nil && strings.HasPrefix(u.Scheme, "http") && manifest.IsManifestPath(u.Path); isFile {
		return e.remoteFile(ctx, at, r.URL, auth)
	}
	a := e.ask(ctx, transport.Remote{URL: repository, Auth: auth}, transport.UploadPack)
	isDenied := errors.Is(a.err, transport.ErrAuth)
	hasCredential := auth.Password+auth.BearerToken != "" || auth.Token != nil || len(auth.SSHKey) > 0
	switch {
	case a.err == nil:
		return ok(checkRemotes, at, a.refs.Remote()+" can be read")
	case isDenied && hasCredential && !isAbove, !isDenied && !errors.Is(a.err, transport.ErrRepositoryNotFound):
		return failed(checkRemotes, at, a.err.Error(), readRemedy(a.err, at))
	case isDenied && !isAbove:
		return warned(checkRemotes, at, a.err.Error(), "set "+at+".auth if it is a private repository; a server may "+
			"answer so, too, where there is none, as above repositories")
	case !isDenied && !isAbove:
		return warned(checkRemotes, at, a.err.Error(), "correct the URL, let "+at+".auth read the repository, or end "+
			"the URL with / if it is above repositories")
	}
	return ok(checkRemotes, at, "the server answers; it allows what is below, and a pass will show what is there")
}

// remoteFile checks that a file on another server can be read.
func (e *examiner) remoteFile(ctx context.Context, at, from string, auth transport.Auth) Result {
	var pool httpclient.Pool
	const size = 1 << 20
	client, err := pool.Client(auth.Connection, httpclient.Options{Timeout: e.Timeout, MaxAnswerBytes: size})
	if err != nil {
		return failed(checkRemotes, at, err.Error(), "correct "+at+".auth")
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, from, http.NoBody)
	if err != nil {
		return failed(checkRemotes, at, "is not a URL", "correct it")
	}
	if req.Header.Set("User-Agent", "agentry"); auth.Password != "" {
		req.SetBasicAuth(auth.Username, auth.Password)
	}
	resp, err := client.Do(req)
	if err != nil {
		return failed(checkRemotes, at, fmt.Sprintf("%s: %s", from, httpclient.PlainError(err)),
			readRemedy(transport.ErrUnreachable, at))
	}
	defer resp.Body.Close()
	if resp.StatusCode >= http.StatusBadRequest {
		return failed(checkRemotes, at, from+": "+resp.Status,
			"correct the URL, or let "+at+".auth read the file")
	}
	return ok(checkRemotes, at, from+" can be read")
}

// clusterState checks the folder of build.cluster, as far as the checkout that the pipeline file is in shows it.
func clusterState(ctx context.Context, p *pipelinefile.Pipeline) (results []Result) {
	const at = "spec.build.cluster"
	folder := p.Spec.Build.Cluster
	if folder == "" {
		return nil
	}
	top, urls := checkoutOf(p)
	isHere := func(src pipeline.Source) bool { return top != "" && isAt(top, urls, src) }
	if !slices.ContainsFunc(p.Spec.Sources, isHere) {
		return []Result{skipped(checkCluster, at, "the pipeline file is not in a checkout of a source", "")}
	}
	layout, err := inputs.Search{Files: os.DirFS(top).(tree.Files), Mode: inputs.Plain, Cluster: folder}.Find(ctx)
	state := layout.State()
	switch {
	case err != nil:
		return []Result{failed(checkCluster, at, err.Error(), "let the user who runs agentry read the folder")}
	case !state.IsThere() && len(p.Spec.Sources) > 1:
		return []Result{skipped(checkCluster, at, folder+" is not in this checkout; a pass will show whether another "+
			"source has it", "")}
	case !state.IsThere():
		return []Result{failed(checkCluster, at, "there is no folder "+folder,
			"correct it, or write it with agentry import --cluster-state "+folder)}
	}
	for _, d := range state.Diags {
		results = append(results, warned(checkCluster, d.Position(), d.Object.String()+" "+d.Problem(), d.Hint))
	}
	if len(results) == 0 {
		results = append(results, ok(checkCluster, at, folder+" can be read"))
	}
	return results
}
