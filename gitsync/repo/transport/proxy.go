package transport

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"net/http"

	"golang.org/x/net/proxy"

	"github.com/agentry-dev/agentry/gitsync/repo/limit"
)

// maxProxyAnswer limits the bytes of a proxy's response.
const maxProxyAnswer = 16 << 10

// dial connects to the host, through the proxy if one is set.
func (c *sshConfig) dial(ctx context.Context) (net.Conn, error) {
	var direct net.Dialer
	if c.proxy == nil {
		return direct.DialContext(ctx, "tcp", c.address)
	}
	if c.proxy.Scheme == "socks5" {
		return c.dialSOCKS(ctx, &direct)
	}
	conn, err := direct.DialContext(ctx, "tcp", c.proxy.Host)
	if err != nil {
		return nil, fmt.Errorf("proxy: %w", err)
	}
	release := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer release()
	if c.proxy.Scheme == "https" {
		conn = tls.Client(conn, c.proxyTLS)
	}
	if err := c.tunnel(conn); err != nil {
		return nil, errors.Join(fmt.Errorf("proxy %s: %w", c.proxy.Host, err), ignoreClosed(conn.Close()))
	}
	return conn, nil
}

func ignoreClosed(err error) error {
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}

func (c *sshConfig) dialSOCKS(ctx context.Context, direct *net.Dialer) (net.Conn, error) {
	var auth *proxy.Auth
	if c.proxy.User != nil {
		password, _ := c.proxy.User.Password()
		auth = &proxy.Auth{User: c.proxy.User.Username(), Password: password}
	}
	dialer, err := proxy.SOCKS5("tcp", c.proxy.Host, auth, direct)
	if err != nil {
		return nil, err
	}
	through, ok := dialer.(proxy.ContextDialer)
	if !ok {
		return nil, errors.New("proxy: the SOCKS client does not support deadlines")
	}
	return through.DialContext(ctx, "tcp", c.address)
}

// tunnel asks an HTTP proxy for a connection to the host. It reads the response byte by byte, because the first bytes
// of the host follow it.
func (c *sshConfig) tunnel(conn net.Conn) error {
	req := "CONNECT " + c.address + " HTTP/1.1\r\nHost: " + c.address + "\r\n"
	if c.proxy.User != nil {
		password, _ := c.proxy.User.Password()
		req += "Proxy-Authorization: Basic " +
			base64.StdEncoding.EncodeToString([]byte(c.proxy.User.Username()+":"+password)) + "\r\n"
	}
	if _, err := conn.Write([]byte(req + "\r\n")); err != nil {
		return err
	}
	var head []byte
	for one := make([]byte, 1); !bytes.HasSuffix(head, []byte("\r\n\r\n")); head = append(head, one[0]) {
		if len(head) >= maxProxyAnswer {
			return fmt.Errorf("%w: the proxy's answer", limit.ErrTooLarge)
		}
		if _, err := conn.Read(one); err != nil {
			return err
		}
	}
	res, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(head)), &http.Request{Method: http.MethodConnect})
	if err != nil {
		return errors.New("its answer is not HTTP")
	}
	_ = res.Body.Close() // it is empty
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("it answers %s", res.Status)
	}
	return nil
}
