package repo

import (
	"slices"
	"sync"

	"github.com/agentry-dev/agentry/gitsync/repo/transport"
)

// clients has one shared client for each credential of a Repo and its Pushers.
type clients struct {
	mu   sync.Mutex
	list []*sharedClient
}

// sharedClient is a client with the number of its users. The last release closes its connections.
type sharedClient struct {
	*transport.Client
	users int
}

// acquire returns the client for a credential. If there is none, create makes it. The caller must release it.
func (c *clients) acquire(auth transport.Auth, create func() (*transport.Client, error)) (*sharedClient, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	i := slices.IndexFunc(c.list, func(known *sharedClient) bool { return known.Auth().Equal(auth) })
	if i >= 0 {
		c.list[i].users++
		return c.list[i], nil
	}
	created, err := create()
	if err != nil {
		return nil, err
	}
	shared := &sharedClient{Client: created, users: 1}
	c.list = append(c.list, shared)
	return shared, nil
}

// release gives a client back. Running requests finish.
func (c *clients) release(shared *sharedClient) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if shared.users--; shared.users > 0 {
		return
	}
	c.list = slices.DeleteFunc(c.list, func(x *sharedClient) bool { return x == shared })
	shared.Close()
}

// close closes the idle connections of all clients.
func (c *clients) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, shared := range c.list {
		shared.Close()
	}
}
