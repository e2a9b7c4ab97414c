package sops

import (
	"context"
	"sync"
)

// maxCachedBytes limits the decrypted texts that a [FileDecrypter] caches.
const maxCachedBytes = 64 << 20

// FileDecrypter decrypts the files that builds need: files of generators, variables of Flux, and values of charts. It
// caches results by a digest of ciphertext and keys, and failures until [FileDecrypter.Retry]. It is safe for
// concurrent use. A nil FileDecrypter decrypts nothing.
type FileDecrypter struct {
	Workers *Workers
	// RendersValues says that values of Secrets are rendered, so they are needed even if they do not decide a name.
	RendersValues bool
	// Lenient makes failures of key servers final instead of uncertain, for commands that hold nothing.
	Lenient bool

	mu    sync.Mutex
	keys  []Key
	cache map[digest]Decrypted
	bytes int
}

// Use sets the keys and clears the cache.
func (d *FileDecrypter) Use(keys []Key) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.keys, d.cache, d.bytes = keys, nil, 0
}

// Retry forgets failures.
func (d *FileDecrypter) Retry() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for at, o := range d.cache {
		if o.Reason != "" {
			delete(d.cache, at)
		}
	}
}

// IsIncomplete reports whether decryption has failed since [FileDecrypter.Retry].
func (d *FileDecrypter) IsIncomplete() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, o := range d.cache {
		if o.Reason != "" {
			return true
		}
	}
	return false
}

// Decrypt decrypts a file. It returns an error only if ctx ends or no process can be started.
func (d *FileDecrypter) Decrypt(ctx context.Context, f File) (Decrypted, error) {
	if d == nil {
		return Decrypted{Reason: "nothing is decrypted here"}, nil
	}
	d.mu.Lock()
	keys := d.keys
	at := f.digest(digestOf(keys))
	known, found := d.cache[at]
	d.mu.Unlock()
	if found {
		return known, nil
	}
	answers, err := d.Workers.Decrypt(ctx, keys, []File{f})
	if err != nil {
		return Decrypted{}, err
	}
	o := answers[0]
	o.IsUncertain = o.IsUncertain && !d.Lenient
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.bytes += len(o.Data); d.cache == nil || d.bytes > maxCachedBytes {
		d.cache, d.bytes = map[digest]Decrypted{}, len(o.Data)
	}
	d.cache[at] = o
	return o, nil
}
