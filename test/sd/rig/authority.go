package rig

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

// Authority issues certificates.
type Authority struct {
	// Pool holds its certificate.
	Pool        *x509.CertPool
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
}

// NewAuthority makes an authority.
func NewAuthority() (*Authority, error) {
	a := &Authority{Pool: x509.NewCertPool()}
	pair, err := a.Issue(func(c *x509.Certificate) {
		c.IsCA, c.BasicConstraintsValid, c.KeyUsage, c.ExtKeyUsage = true, true, x509.KeyUsageCertSign, nil
	})
	if err != nil {
		return nil, err
	}
	a.certificate = pair.Leaf
	a.key, _ = pair.PrivateKey.(*ecdsa.PrivateKey)
	a.Pool.AddCert(pair.Leaf)
	return a, nil
}

// Issue makes a certificate for servers and clients that is valid for an hour, for the name pod and the address
// 127.0.0.1, unless the function changes that.
func (a *Authority) Issue(change func(*x509.Certificate)) (*tls.Certificate, error) {
	now := time.Now()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(now.UnixNano()), NotBefore: now.Add(-time.Hour), NotAfter: now.Add(time.Hour),
		DNSNames: []string{"pod"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	template.Subject = pkix.Name{CommonName: template.SerialNumber.String()}
	if change != nil {
		change(template)
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	parent, signer := template, key
	if a.certificate != nil {
		parent, signer = a.certificate, a.key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, signer)
	if err != nil {
		return nil, err
	}
	leaf, err := x509.ParseCertificate(der)
	return &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: leaf}, err
}

// Write writes ca.pem, and the certificate with its key as cert.pem and key.pem.
func (a *Authority) Write(folder string, pair *tls.Certificate) error {
	key, err := x509.MarshalPKCS8PrivateKey(pair.PrivateKey)
	write := func(name, kind string, der []byte) error {
		return os.WriteFile(filepath.Join(folder, name), pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600)
	}
	return errors.Join(err,
		write("ca.pem", "CERTIFICATE", a.certificate.Raw),
		write("cert.pem", "CERTIFICATE", pair.Leaf.Raw),
		write("key.pem", "PRIVATE KEY", key))
}
