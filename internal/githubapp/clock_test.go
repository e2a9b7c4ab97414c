package githubapp

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentry-dev/agentry/test/clocktest"
)

// dated answers as GitHub does, whose clock is right: it refuses a signature with a time in the future, and one that
// lasts too long.
func dated(t *testing.T, calls *int) roundTripper {
	return func(req *http.Request) (*http.Response, error) {
		*calls++
		now := time.Now()
		w := httptest.NewRecorder()
		w.Header().Set("Date", now.UTC().Format(http.TimeFormat))
		var claims struct{ Iat, Exp int64 }
		parts := strings.Split(req.Header.Get("Authorization"), ".")
		text, err := base64.RawURLEncoding.DecodeString(parts[1])
		if err == nil {
			err = json.Unmarshal(text, &claims)
		}
		if err != nil {
			t.Error(err)
		}
		if claims.Iat > now.Unix() || claims.Exp <= now.Unix() || claims.Exp > now.Add(10*time.Minute).Unix() {
			w.WriteHeader(http.StatusUnauthorized)
			_, _ = w.WriteString(`{"message":"'Expiration time' claim ('exp') is too far in the future"}`)
			answer := w.Result()
			answer.Request = req
			return answer, nil
		}
		w.WriteHeader(http.StatusCreated)
		_, _ = fmt.Fprintf(w, `{"token":%q,"expires_at":%q}`, fmt.Sprintf("%s%d", secret, *calls),
			now.Add(time.Hour).UTC().Format(time.RFC3339))
		return w.Result(), nil
	}
}

// TestAClockThatIsSet: tokens are issued whatever the local clock shows, and renewed when they really end.
func TestAClockThatIsSet(t *testing.T) {
	const year = 365 * 24 * time.Hour
	_, text := newKey(t)
	for _, off := range []time.Duration{time.Hour, -time.Hour, year, -year} {
		t.Run(off.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, err := New(Config{AppID: 7, InstallationID: 42, PrivateKey: text})
				if err != nil {
					t.Fatal(err)
				}
				var clock clocktest.Clock
				calls := 0
				s.now, s.http.Transport = clock.Now, dated(t, &calls)
				for i, c := range []struct {
					sleep time.Duration
					off   time.Duration
					calls int
				}{
					{0, 0, 1}, {time.Minute, off, 1}, {54 * time.Minute, off, 3}, // refused, and made by GitHub's clock
					{54 * time.Minute, off, 3}, {0, 0, 3}, {time.Minute, 0, 4},
				} {
					time.Sleep(c.sleep)
					clock.Set(c.off)
					if _, err := s.Token(t.Context()); err != nil || calls != c.calls {
						t.Errorf("step %d: %d calls, %v; want %d", i, calls, err, c.calls)
					}
				}
			})
		})
	}
}
