// Package rotate keeps values that are made from files, such as certificates and tokens, and makes
// them again when the files change: Kubernetes replaces the files of a Secret while pods run. If new
// files cannot be read or parsed, the previous value stays in force and the error is reported once.
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

// Value is a value that is made from the contents of some files.
type Value[T any] struct {
	files  []string
	parse  func(contents [][]byte) (T, error)
	failed func(error)

	mu       sync.Mutex
	value    T
	contents [][]byte
	checked  time.Time
	told     string
}

// New reads the files. Later failures go to the function failed.
func New[T any](parse func(contents [][]byte) (T, error), failed func(error), files ...string) (*Value[T], error) {
	v := &Value[T]{files: files, parse: parse, failed: failed}
	if err := v.load(); err != nil {
		return nil, err
	}
	return v, nil
}

// Get returns the value for the files as they are, or as they were less than Every ago.
func (v *Value[T]) Get() T {
	v.mu.Lock()
	defer v.mu.Unlock()
	if time.Since(v.checked) < Every {
		return v.value
	}
	err := v.load()
	switch {
	case err == nil:
		v.told = ""
	case err.Error() != v.told:
		v.told = err.Error()
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

// KeyPair keeps a certificate and its key.
func KeyPair(certFile, keyFile string, failed func(error)) (*Value[*tls.Certificate], error) {
	return New(func(c [][]byte) (*tls.Certificate, error) {
		pair, err := tls.X509KeyPair(c[0], c[1])
		return &pair, err
	}, failed, certFile, keyFile)
}

// Pool keeps the certificates of authorities.
func Pool(file string, failed func(error)) (*Value[*x509.CertPool], error) {
	return New(func(c [][]byte) (*x509.CertPool, error) {
		pool := x509.NewCertPool()
		if !pool.AppendCertsFromPEM(c[0]) {
			return nil, errors.New("no certificate in PEM form")
		}
		return pool, nil
	}, failed, file)
}

// Token keeps the token that is the only word of a file, and passes the checks.
func Token(file string, failed func(error), checks ...func(token string) error) (*Value[string], error) {
	return New(func(c [][]byte) (string, error) {
		token := strings.TrimSpace(string(c[0]))
		if token == "" || strings.ContainsAny(token, " \t\r\n") {
			return "", errors.New("not one token")
		}
		for _, check := range checks {
			if err := check(token); err != nil {
				return "", err
			}
		}
		return token, nil
	}, failed, file)
}
