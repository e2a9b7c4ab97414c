package repo

import "slices"

// clients are the connections of a Repo and its Pushers, one set for each credential
// however many use it. Its fields are guarded by Repo.mu.
type clients struct {
	list []*sharedClient
}

// sharedClient counts who uses a client; with the last one its connections go.
type sharedClient struct {
	*client
	users int
}

// takeClient gives the client of a credential, to be given back by dropClient.
func (r *Repo) takeClient(auth Auth) (*sharedClient, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	i := slices.IndexFunc(r.clients.list, func(c *sharedClient) bool { return c.auth.Equal(auth) })
	if i >= 0 {
		r.clients.list[i].users++
		return r.clients.list[i], nil
	}
	made, err := newClient(r.at, auth, r.opts)
	if err != nil {
		return nil, err
	}
	c := &sharedClient{client: made, users: 1}
	r.clients.list = append(r.clients.list, c)
	return c, nil
}

// dropClient gives a client back. Requests that are under way end by themselves.
func (r *Repo) dropClient(c *sharedClient) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if c.users--; c.users > 0 {
		return
	}
	r.clients.list = slices.DeleteFunc(r.clients.list, func(x *sharedClient) bool { return x == c })
	c.close()
}

// readClient is the one that fetches.
func (r *Repo) readClient() *client {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.read.client
}
