package store

import (
	"bytes"
	"compress/zlib"
	"context"
	"crypto/sha1"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/format/idxfile"
	"github.com/google/go-cmp/cmp"

	"github.com/agentry-dev/agentry/gitsync/repo/limit"
	"github.com/agentry-dev/agentry/test/gittest"
)

func generous() Limits {
	return Limits{PackBytes: 1 << 30, ObjectBytes: 256 << 20, AllBytes: 16 << 30}
}

// packer writes a pack by hand.
type packer struct {
	bytes.Buffer
	count uint32
}

func newPacker() *packer {
	p := &packer{}
	p.WriteString("PACK\x00\x00\x00\x02\x00\x00\x00\x00")
	return p
}

// object adds an object, or a delta with what precedes its content; it returns its offset.
func (p *packer) object(kind plumbing.ObjectType, reference, content []byte) int {
	at := p.Len()
	p.Write(appendObjectHeader(nil, kind, len(content)))
	p.Write(reference)
	z := zlib.NewWriter(&p.Buffer)
	_, _ = z.Write(content)
	_ = z.Close()
	p.count++
	return at
}

// delta adds a delta of an object of that size at an offset, which appends a text.
func (p *packer) delta(base, size int, text string) (at, resultSize int) {
	out := binary.AppendUvarint(nil, uint64(size))
	out = binary.AppendUvarint(out, uint64(size+len(text)))
	for offset := 0; offset < size; offset += 0xffff {
		n := min(size-offset, 0xffff)
		out = append(out, 0xbf, byte(offset), byte(offset>>8), byte(offset>>16), byte(offset>>24), byte(n), byte(n>>8))
	}
	out = append(append(out, byte(len(text))), text...)
	distance := p.Len() - base
	reference := []byte{byte(distance & 0x7f)}
	for distance >>= 7; distance > 0; distance >>= 7 {
		distance--
		reference = append([]byte{0x80 | byte(distance&0x7f)}, reference...)
	}
	return p.object(plumbing.OFSDeltaObject, reference, out), size + len(text)
}

// file ends the pack and writes it.
func (p *packer) file(t testing.TB) *os.File {
	t.Helper()
	binary.BigEndian.PutUint32(p.Bytes()[8:], p.count)
	sum := sha1.Sum(p.Bytes())
	p.Write(sum[:])
	file, err := os.Create(filepath.Join(t.TempDir(), "test.pack"))
	if err == nil {
		_, err = file.Write(p.Bytes())
	}
	if err == nil {
		_, err = file.Seek(0, 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = file.Close() })
	return file
}

// listed returns the objects of an index, as text.
func listed(t *testing.T, idx *idxfile.MemoryIndex) []string {
	t.Helper()
	entries, err := idx.Entries()
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for {
		e, err := entries.Next()
		if err != nil {
			return out
		}
		out = append(out, fmt.Sprint(e.Hash, e.Offset, e.CRC32))
	}
}

// gits returns the index that git makes of a pack.
func gits(t testing.TB, pack string) *idxfile.MemoryIndex {
	t.Helper()
	name := filepath.Join(t.TempDir(), "git.idx")
	if out, err := exec.Command("git", "index-pack", "-o", name, pack).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	file, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	idx := idxfile.NewMemoryIndex()
	if err := idxfile.NewDecoder(file).Decode(idx); err != nil {
		t.Fatal(err)
	}
	return idx
}

func TestIndexIsGits(t *testing.T) {
	t.Parallel()
	repo := gittest.NewRepo(t)
	text := strings.Repeat("a line of a file that is long enough for deltas\n", 200)
	for i := range 60 {
		text += fmt.Sprintln("line", i)
		repo.Commit("main", map[string]string{"a.yaml": text, fmt.Sprintf("b/%d.yaml", i%7): text[i:] + fmt.Sprint(i),
			"c/deep/er.yaml": fmt.Sprint(i)})
	}
	for name, flags := range map[string][]string{"offsets": {"--delta-base-offset"}, "hashes": nil,
		"deep": {"--delta-base-offset", "--depth=4000", "--window=100"}} {
		base := filepath.Join(t.TempDir(), "pack")
		sum := strings.TrimSpace(repo.GitIn("main\n",
			append([]string{"pack-objects", "-q", "--revs", base}, flags...)...))
		file, err := os.Open(base + "-" + sum + ".pack")
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		got, err := index(t.Context(), file, generous())
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		want := gits(t, file.Name())
		if diff := cmp.Diff(listed(t, want), listed(t, got)); diff != "" ||
			got.PackfileChecksum != want.PackfileChecksum {
			t.Errorf("%s (-git +ours):\n%s", name, diff)
		}
	}
}

func TestIndexOfChainsAndTrees(t *testing.T) {
	t.Parallel()
	p := newPacker()
	content := bytes.Repeat([]byte("base "), 1000)
	at := []int{p.object(plumbing.BlobObject, nil, content)}
	size := []int{len(content)}
	for i := range 300 { // a comb, a chain and a broad tree, all in one
		for _, base := range []int{len(at) - 1, len(at) / 2, i % 3} {
			offset, length := p.delta(at[base], size[base], fmt.Sprintf("%d of %d", len(at), base))
			at, size = append(at, offset), append(size, length)
		}
	}
	file := p.file(t)
	got, err := index(t.Context(), file, generous())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(listed(t, gits(t, file.Name())), listed(t, got)); diff != "" {
		t.Errorf("(-git +ours):\n%s", diff)
	}
}

// heavy makes a small pack of a large object with many deltas.
func heavy(bytesEach, deltas int) *packer {
	p := newPacker()
	base := p.object(plumbing.BlobObject, nil, make([]byte, bytesEach))
	for i := range deltas {
		p.delta(base, bytesEach, fmt.Sprint(i))
	}
	return p
}

func TestPacksThatUnpackToMuch(t *testing.T) {
	t.Parallel()
	small := Limits{ObjectBytes: 1 << 20, AllBytes: 8 << 20}
	chain := newPacker()
	at, size := chain.object(plumbing.BlobObject, nil, []byte("x")), 1
	for range maxChain + 1 {
		at, size = chain.delta(at, size, "y")
	}
	for name, c := range map[string]struct {
		pack *packer
		want string
	}{
		"an object":                   {heavy(1<<20+1, 0), "1048577 bytes"},
		"an object with a delta":      {heavy(1<<19+1, 1), "524289 bytes"},
		"all objects":                 {heavy(1<<19-10, 20), "unpacks to more than 8388608 bytes"},
		"deltas that build on deltas": {chain, "4095"},
	} {
		limits := small
		if name == "deltas that build on deltas" {
			limits = generous()
		}
		_, err := index(t.Context(), c.pack.file(t), limits)
		if !errors.Is(err, limit.ErrTooLarge) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestIndexingEndsWithItsContext: this pack takes minutes.
func TestIndexingEndsWithItsContext(t *testing.T) {
	t.Parallel()
	limits := generous()
	limits.AllBytes = 1 << 50
	file := heavy(100<<20, 3000).file(t)
	why := errors.New("the service stops")
	ctx, cancel := context.WithTimeoutCause(t.Context(), time.Second, why)
	defer cancel()
	began := time.Now()
	if _, err := index(ctx, file, limits); !errors.Is(err, why) {
		t.Errorf("got %v", err)
	}
	if took := time.Since(began); took > time.Minute {
		t.Errorf("it went on for %s", took)
	}
}

// BenchmarkIndex indexes a large file with many small differences, against git. The goal is three times git's time.
func BenchmarkIndex(b *testing.B) {
	file := heavy(20<<20, 40).file(b)
	var own, git time.Duration
	for b.Loop() {
		began := time.Now()
		gits(b, file.Name())
		git += time.Since(began)
		began = time.Now()
		if _, err := index(b.Context(), file, generous()); err != nil {
			b.Fatal(err)
		}
		own += time.Since(began)
	}
	b.ReportMetric(own.Seconds()/git.Seconds(), "index/git")
}

func TestMalformedPacks(t *testing.T) {
	t.Parallel()
	lonely := newPacker()
	lonely.object(plumbing.REFDeltaObject, make([]byte, 20), []byte{1, 1, 1, 'x'})
	for name, delta := range map[string][]byte{
		"no instruction":           {1, 2},
		"reserved instruction":     {1, 1, 0},
		"text is cut off":          {1, 5, 5, 'x'},
		"copy beyond the base":     {1, 2, 0x90, 2},
		"copy without its size":    {1, 1, 0x90},
		"another size of the base": {2, 1, 1, 'x'},
		"more than the result":     {1, 1, 2, 'x', 'y'},
		"nothing":                  {},
	} {
		p := newPacker()
		p.object(plumbing.BlobObject, nil, []byte("b"))
		p.object(plumbing.OFSDeltaObject, []byte{byte(p.Len() - 12)}, delta)
		if _, err := index(t.Context(), p.file(t), generous()); !errors.Is(err, ErrBadPack) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := index(t.Context(), lonely.file(t), generous()); !errors.Is(err, ErrBadPack) {
		t.Errorf("a delta of nothing: %v", err)
	}
}

// Any bytes are a valid pack or refused; what git accepts, index accepts.
func FuzzIndex(f *testing.F) {
	f.Add(heavy(10, 2).Bytes())
	f.Fuzz(func(t *testing.T, raw []byte) {
		name := filepath.Join(t.TempDir(), "fuzz.pack")
		if err := os.WriteFile(name, raw, 0o600); err != nil {
			t.Fatal(err)
		}
		file, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		_, _ = index(t.Context(), file, Limits{ObjectBytes: 1 << 20, AllBytes: 16 << 20})
	})
}
