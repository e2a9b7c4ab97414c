// Package rotate loads values such as certificates and tokens from files, and reloads them when the files change:
// Kubernetes replaces the files of a Secret while pods run. If changed files cannot be read or parsed, the previous
// value stays in force and the error is reported once.
package rotate

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"
)

// Every is the shortest time between two reads of the files.
const Every = 5 * time.Second

// Value is a value parsed from the contents of files.
type Value[T any] struct {
	files  []string
	parse  func(contents [][]byte) (T, error)
	failed func(error)

	mu       sync.Mutex
	value    T
	contents [][]byte
	checked  time.Time
	reported string // the last error reported
}

// New reads the files. It passes later errors to failed.
func New[T any](parse func(contents [][]byte) (T, error), failed func(error), files ...string) (*Value[T], error) {
	v := &Value[T]{files: files, parse: parse, failed: failed}
	if err := v.load(); err != nil {
		return nil, err
	}
	return v, nil
}

// Get returns the value for the contents of the files now, or less than Every ago.
func (v *Value[T]) Get() T {
	v.mu.Lock()
	defer v.mu.Unlock()
	if time.Since(v.checked) < Every {
		return v.value
	}
	err := v.load()
	switch {
	case err == nil:
		v.reported = ""
	case err.Error() != v.reported:
		v.reported = err.Error()
		v.failed(err)
	}
	return v.value
}

func (v *Value[T]) load() error {
	v.checked = time.Now()
	contents := make([][]byte, len(v.files))
	for i, file := range v.files {
		data, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		contents[i] = data
	}
	if v.contents != nil && equal(contents, v.contents) {
		return nil
	}
	value, err := v.parse(contents)
	if err != nil {
		return fmt.Errorf("%s: %w", strings.Join(v.files, ", "), err)
	}
	v.value, v.contents = value, contents
	return nil
}

func equal(a, b [][]byte) bool {
	for i := range a {
		if !bytes.Equal(a[i], b[i]) {
			return false
		}
	}
	return true
}

// KeyPair loads a certificate and its key.
func KeyPair(certFile, keyFile string, failed func(error)) (*Value[*tls.Certificate], error) {
	return New(func(c [][]byte) (*tls.Certificate, error) {
		pair, err := tls.X509KeyPair(c[0], c[1])
		return &pair, err
	}, failed, certFile, keyFile)
}

// Pool loads the certificates of authorities.
func Pool(file string, failed func(error)) (*Value[*x509.CertPool], error) {
	return New(func(c [][]byte) (*x509.CertPool, error) {
		pool := x509.NewCertPool()
		if !pool.AppendCertsFromPEM(c[0]) {
			return nil, errors.New("no certificate in PEM form")
		}
		return pool, nil
	}, failed, file)
}

// Token loads a token, which must be the only word of the file and pass the checks.
func Token(file string, failed func(error), checks ...func(token string) error) (*Value[string], error) {
	return New(func(c [][]byte) (string, error) {
		token := strings.TrimSpace(string(c[0]))
		switch {
		case token == "":
			return "", errors.New("it has no token")
		case strings.ContainsAny(token, " \t\r\n"):
			return "", errors.New("it has more than one word, so it is not a token")
		}
		for _, check := range checks {
			if err := check(token); err != nil {
				return "", err
			}
		}
		return token, nil
	}, failed, file)
}
