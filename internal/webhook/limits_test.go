package webhook

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agentry-dev/agentry/internal/intake"
)

func TestRates(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newTestbed(0, hooks("generic")...)
		send := func(client, key, body string) int {
			return w.send(delivery{client: client, path: "/hook/generic/" + shop, body: body,
				header: map[string]string{"X-Signature": sha(key, body)}}).Code
		}
		for i := range intake.ClientBurst {
			if got := send("192.0.2.1:1", "wrong", ""); got != 404 {
				t.Fatalf("request %d got %d", i, got)
			}
		}
		if got := send("192.0.2.1:2", secret, ""); got != 429 {
			t.Errorf("a client with too many requests got %d", got)
		}
		for i := range RepositoryBurst {
			if got := send("192.0.2.2:1", secret, strconv.Itoa(i)); got != 202 {
				t.Fatalf("genuine request %d got %d: another client used up what the repository may have", i, got)
			}
		}
		if got := send("192.0.2.2:1", secret, "one more"); got != 429 {
			t.Errorf("a repository with too many requests got %d", got)
		}
		w.Set(hooks("generic"))
		if got := send("192.0.2.2:1", secret, "one more"); got != 429 {
			t.Errorf("the new configuration forgot how many there were: %d", got)
		}
		time.Sleep(time.Second)
		if got := send("192.0.2.2:1", secret, "one more"); got != 202 {
			t.Errorf("a second later it got %d: the refusal counted as a delivery", got)
		}
	})
}

// TestSlowBodies lets a body stop half-way, over a real connection.
func TestSlowBodies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		body, feed := io.Pipe()
		defer feed.Close()
		r := httptest.NewRequest(http.MethodPost, "http://h/hook/generic/"+shop, nil)
		r.Body = body
		r.Header.Set("X-Signature", sha(secret, ""))
		w := newTestbed(0, hooks("generic")...)
		out := &deadlines{ResponseRecorder: httptest.NewRecorder(), expire: feed}
		began := time.Now()
		w.ServeHTTP(out, r)
		if out.Code != 408 || time.Since(began) != intake.BodyTimeout {
			t.Errorf("%d after %v", out.Code, time.Since(began))
		}
		if diff := cmp.Diff([]string{"generic broken"}, w.results); diff != "" {
			t.Error(diff)
		}
	})
}

// deadlines adds a connection's deadlines to a pipe.
type deadlines struct {
	*httptest.ResponseRecorder
	expire *io.PipeWriter
}

func (d *deadlines) SetReadDeadline(at time.Time) error {
	time.AfterFunc(time.Until(at), func() { _ = d.expire.CloseWithError(errDeadline{}) })
	return nil
}

type errDeadline struct{}

func (errDeadline) Error() string        { return "i/o timeout" }
func (errDeadline) Is(target error) bool { return target.Error() == "i/o timeout" }

// TestSlowBodiesGiveWay opens more bodies than are read at once. Genuine requests are answered at once.
func TestSlowBodiesGiveWay(t *testing.T) {
	for name, client := range map[string]func(i int) string{
		"of many clients": func(i int) string { return fmt.Sprintf("10.0.%d.1:1", i) },
		"of one client":   func(int) string { return "10.0.0.1:1" },
		// the address of httptest's requests, as behind a proxy
		"by the same address": func(int) string { return "192.0.2.1:1234" },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newTestbed(0, hooks("generic")...)
				w.options.Observe = nil // It is called concurrently here.
				answers := make(chan int, intake.MaxBodies+20)
				for i := range intake.MaxBodies + 20 {
					body, feed := io.Pipe()
					out := &deadlines{ResponseRecorder: httptest.NewRecorder(), expire: feed}
					go func() {
						r := httptest.NewRequest(http.MethodPost, "http://h/hook/generic/"+shop, nil)
						r.Body, r.RemoteAddr = body, client(i)
						r.Header.Set("X-Signature", sha("wrong", ""))
						w.ServeHTTP(out, r)
						answers <- out.Code
					}()
				}
				synctest.Wait()
				if got := w.send(delivery{path: "/hook/generic/" + shop,
					header: map[string]string{"X-Signature": sha(secret, "")}}).Code; got != 202 {
					t.Errorf("a genuine request got %d", got)
				}
				synctest.Wait()
				if n := len(answers); n != 21 {
					t.Errorf("%d were given up; 21 are too many", n)
				}
				time.Sleep(intake.BodyTimeout)
				synctest.Wait()
				for range intake.MaxBodies + 20 {
					if got := <-answers; got != 408 {
						t.Errorf("a slow one got %d", got)
					}
				}
			})
		})
	}
}

// TestTooLargeBodiesAreRefusedUnread: the header Content-Length is enough.
func TestTooLargeBodiesAreRefusedUnread(t *testing.T) {
	w := newTestbed(100, hooks("generic")...)
	r := httptest.NewRequest(http.MethodPost, "http://h/hook/generic/"+shop, nil)
	r.Body, r.ContentLength = io.NopCloser(errReader{t}), 101
	r.Header.Set("X-Signature", sha(secret, ""))
	out := httptest.NewRecorder()
	if w.ServeHTTP(out, r); out.Code != 413 {
		t.Errorf("got %d", out.Code)
	}
}

type errReader struct{ t *testing.T }

func (r errReader) Read([]byte) (int, error) {
	r.t.Error("the body was read")
	return 0, io.EOF
}
