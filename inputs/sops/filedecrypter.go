package sops

import (
	"context"
	"sync"
)

// maxKeptBytes limits the decrypted texts that a [FileDecrypter] keeps.
const maxKeptBytes = 64 << 20

// FileDecrypter decrypts what builds need: files of generators, variables of Flux, and values of charts. It keeps what
// it decrypted, by a digest of ciphertext and keys, and what it could not until [FileDecrypter.Retry]. It is safe for
// concurrent use. Nil decrypts nothing.
type FileDecrypter struct {
	Workers *Workers
	// RendersValues says that values of Secrets are rendered, so that they are needed although they decide no name.
	RendersValues bool
	// Lenient means that a key server that does not answer is no reason to stop: nothing is held here.
	Lenient bool

	mu    sync.Mutex
	keys  []Key
	kept  map[digest]Decrypted
	bytes int
}

// Use sets the keys. What was decrypted with others is forgotten.
func (d *FileDecrypter) Use(keys []Key) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.keys, d.kept, d.bytes = keys, nil, 0
}

// Retry forgets what could not be decrypted.
func (d *FileDecrypter) Retry() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for at, o := range d.kept {
		if o.Reason != "" {
			delete(d.kept, at)
		}
	}
}

// IsIncomplete reports whether something could not be decrypted since [FileDecrypter.Retry].
func (d *FileDecrypter) IsIncomplete() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, o := range d.kept {
		if o.Reason != "" {
			return true
		}
	}
	return false
}

// Decrypt decrypts a file. The error is ctx's, or says that no process can be started.
func (d *FileDecrypter) Decrypt(ctx context.Context, f File) (Decrypted, error) {
	if d == nil {
		return Decrypted{Reason: "nothing is decrypted here"}, nil
	}
	d.mu.Lock()
	keys := d.keys
	at := f.digest(digestOf(keys))
	known, found := d.kept[at]
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
	if d.bytes += len(o.Data); d.kept == nil || d.bytes > maxKeptBytes {
		d.kept, d.bytes = map[digest]Decrypted{}, len(o.Data)
	}
	d.kept[at] = o
	return o, nil
}
