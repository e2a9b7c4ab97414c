package login

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"time"
)

// The purposes of cookies: the content of one is not valid as another.
const (
	loginCookie   = "agentry-login"
	sessionCookie = "agentry-session"
)

// sealed is the content of a cookie. It includes the expiry, because browsers need not drop the cookie in time.
type sealed struct {
	Ends  int64           `json:"ends"`
	Value json.RawMessage `json:"value"`
}

// box returns the cipher for a purpose. Its key is valid only for that purpose and these settings.
func (l *Login) box(purpose string) (cipher.AEAD, error) {
	terms, err := json.Marshal(l.Settings)
	if err != nil {
		return nil, err
	}
	key, err := hkdf.Key(sha256.New, []byte(l.Key()), terms, "agentry cookie "+purpose, 32)
	if err != nil {
		return nil, err
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	return cipher.NewGCMWithRandomNonce(block)
}

// name returns the name of a cookie. With the prefix, browsers accept it only from this host and only by https.
func (l *Login) name(purpose string) string {
	if l.secure() {
		return "__Host-" + purpose
	}
	return purpose
}

func (l *Login) write(w http.ResponseWriter, purpose string, value any, ends time.Time) {
	text, err := json.Marshal(value)
	if err == nil {
		text, err = json.Marshal(sealed{ends.Unix(), text})
	}
	box, boxErr := l.box(purpose)
	if err != nil || boxErr != nil {
		l.Log.Error("cannot make a cookie", "err", err, "key", boxErr) // unreachable: the key fits AES
		return
	}
	l.cookie(w, purpose, base64.RawURLEncoding.EncodeToString(box.Seal(nil, nil, text, nil)),
		int(ends.Sub(l.now())/time.Second))
}

func (l *Login) drop(w http.ResponseWriter, purpose string) { l.cookie(w, purpose, "", -1) }

func (l *Login) cookie(w http.ResponseWriter, purpose, value string, seconds int) {
	http.SetCookie(w, &http.Cookie{
		Name: l.name(purpose), Value: value, Path: "/", MaxAge: seconds,
		HttpOnly: true, Secure: l.secure(), SameSite: http.SameSiteLaxMode,
	})
}

// read reads a cookie. It returns false unless the request has a valid one that has not expired.
func (l *Login) read(r *http.Request, purpose string, value any) bool {
	c, err := r.Cookie(l.name(purpose))
	if err != nil {
		return false
	}
	data, err := base64.RawURLEncoding.DecodeString(c.Value)
	if err != nil {
		return false
	}
	box, err := l.box(purpose)
	if err != nil {
		return false
	}
	text, err := box.Open(nil, nil, data, nil)
	if err != nil {
		return false
	}
	var s sealed
	return json.Unmarshal(text, &s) == nil && l.now().Unix() < s.Ends && json.Unmarshal(s.Value, value) == nil
}
