package browser

import (
	"context"
	"flag"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/audits"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

var screenshots = flag.String("screenshots", "", "folder for a picture of each page")

// timeout bounds a test: a browser that hangs is ended.
const timeout = 3 * time.Minute

// chromium starts a browser, which ends with the test.
func chromium(t *testing.T) context.Context {
	t.Helper()
	program := ""
	for _, name := range []string{"chromium-headless-shell", "chromium", "google-chrome"} {
		if at, err := exec.LookPath(name); err == nil {
			program = at
			break
		}
	}
	if program == "" {
		t.Fatal("there is no Chromium: install chromium-headless-shell, or run make browser")
	}
	options := append(slices.Clone(chromedp.DefaultExecAllocatorOptions[:]),
		chromedp.ExecPath(program), chromedp.NoSandbox, // what it shows is ours, and root has no sandbox
		chromedp.UserDataDir(t.TempDir()),
		chromedp.Flag("host-resolver-rules", "MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"),
	)
	ctx, cancel := context.WithTimeout(t.Context(), timeout)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewExecAllocator(ctx, options...)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	if err := chromedp.Do(ctx); err != nil {
		t.Fatal(err)
	}
	return ctx
}

// look is how a page is looked at.
type look struct {
	width   int64
	dark    bool
	scripts bool // allowed to run, if there were any
}

func (l look) String() string {
	words := []string{fmt.Sprintf("%d px", l.width)}
	if l.dark {
		words = append(words, "dark")
	}
	if !l.scripts {
		words = append(words, "without scripts")
	}
	return strings.Join(words, ", ")
}

// looks are all ways in which pages are looked at.
func looks() []look {
	return []look{{360, false, true}, {1280, false, true}, {1280, false, false}, {1920, false, true},
		{360, true, true}, {1280, true, true}}
}

// sight is a page that is shown in a tab of the browser.
type sight struct {
	tab context.Context // chromedp knows a tab by its context
	facts

	mu     sync.Mutex
	events []string // what the browser finds wrong with it
}

// visit shows a page in a tab of its own.
func visit(t *testing.T, browser context.Context, address string, l look) *sight {
	t.Helper()
	at, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	tab, cancel := chromedp.NewContext(browser)
	t.Cleanup(cancel)
	s := &sight{tab: tab}
	if err := chromedp.Listen(tab, func(event any) { s.hear(at.Host, event) }); err != nil {
		t.Fatal(err)
	}
	scheme := "light"
	if l.dark {
		scheme = "dark"
	}
	do(t, tab,
		command(network.Enable, network.EnableParams{}),
		command(log.Enable, cdp.Empty{}),
		command(audits.Enable, cdp.Empty{}),
		command(emulation.SetDeviceMetricsOverride,
			emulation.SetDeviceMetricsOverrideParams{Width: l.width, Height: 800, DeviceScaleFactor: 1}),
		command(emulation.SetEmulatedMedia,
			emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme",
				Value: scheme}}}),
		command(emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: !l.scripts}),
		chromedp.Navigate(address),
	)
	if l.scripts {
		// Rows that leave their content to be shown when they are seen have none before the first frame.
		do(t, tab, chromedp.Evaluate[chromedp.Void](
			`new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(0))))`,
			chromedp.EvalAwaitPromise))
	}
	s.facts = get(t, tab, chromedp.Evaluate[facts](measure))
	return s
}

// command is one of the browser's protocol that answers nothing.
func command[P any](c cdp.Command[P, cdp.Empty], params P) chromedp.Action[chromedp.Void] {
	return chromedp.Func(func(ctx context.Context, tab *chromedp.Target) error {
		_, err := cdp.Call(ctx, tab, c, params)
		return err
	})
}

func do(t *testing.T, tab context.Context, actions ...chromedp.Action[chromedp.Void]) {
	t.Helper()
	if err := chromedp.Do(tab, actions...); err != nil {
		t.Fatal(err)
	}
}

func get[T any](t *testing.T, tab context.Context, action chromedp.Action[T]) T {
	t.Helper()
	out, err := chromedp.Run(tab, action)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// hear takes note of what must not happen on a page of a host.
func (s *sight) hear(host string, event any) {
	what := ""
	switch e := event.(type) {
	case *runtime.EventConsoleAPICalled:
		what = "writes to the console: " + string(e.Type)
	case *runtime.EventExceptionThrown:
		what = "throws " + e.ExceptionDetails.Text + ": " + description(e.ExceptionDetails.Exception)
	case *log.EventEntryAdded:
		what = fmt.Sprintf("the browser says: %s: %s %s", e.Entry.Level, e.Entry.Text, e.Entry.URL)
	case *audits.EventIssueAdded:
		what = "the browser finds an issue: " + string(e.Issue.Code)
	case *network.EventRequestWillBeSent:
		if to, err := url.Parse(e.Request.URL); err != nil || to.Host != host {
			what = "asks for " + e.Request.URL
		}
	case *network.EventResponseReceived:
		if e.Response.Status != 200 && e.Response.Status != 304 {
			what = fmt.Sprintf("%s answers %d", e.Response.URL, e.Response.Status)
		}
	case *page.EventJavascriptDialogOpening:
		what = "says " + e.Message
		go func() { // Else it waits, and nothing may be sent from here.
			_ = chromedp.Do(s.tab, command(page.HandleJavaScriptDialog,
				page.HandleJavaScriptDialogParams{Accept: true}))
		}()
	}
	if what != "" {
		s.mu.Lock()
		s.events = append(s.events, what)
		s.mu.Unlock()
	}
}

// complaints are all that is wrong with the page.
func (s *sight) complaints() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append(slices.Clone(s.events), s.facts.complaints()...)
}

// focused is what has the focus of the keyboard.
type focused struct {
	Href    string
	Outline bool // is it seen?
}

const focus = `(() => {
	const e = document.activeElement, style = getComputedStyle(e);
	return {Href: e.href || '', Outline: style.outlineStyle !== 'none' && style.outlineWidth !== '0px'};
})()`

// tabs presses the tabulator so often, and tells where that leads.
func (s *sight) tabs(t *testing.T, n int) []focused {
	t.Helper()
	all := make([]focused, n)
	for i := range all {
		do(t, s.tab, chromedp.KeyEvent(kb.Tab))
		all[i] = get(t, s.tab, chromedp.Evaluate[focused](focus))
	}
	return all
}

// picture leaves a picture of the page for people, if they want one.
func (s *sight) picture(t *testing.T, name string) {
	t.Helper()
	if *screenshots == "" {
		return
	}
	png := get(t, s.tab, chromedp.FullScreenshot(100))
	name = strings.NewReplacer(" ", "-", ",", "", "/", "-").Replace(name) + ".png"
	if err := os.WriteFile(filepath.Join(*screenshots, name), png, 0o644); err != nil {
		t.Fatal(err)
	}
}

func description(thrown *runtime.RemoteObject) string {
	if thrown == nil {
		return ""
	}
	return thrown.Description
}
