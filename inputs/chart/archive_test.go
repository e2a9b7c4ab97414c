package chart

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"io"
	"path"
	"strings"
	"testing"

	"github.com/agentry-dev/agentry/inputs/helm"
)

func TestArchivesThatAreRefused(t *testing.T) {
	many := make([]helm.File, MaxFiles+1)
	for i := range many {
		many[i].Name = "shop/a"
	}
	good := pack(t, helm.File{Name: "shop/Chart.yaml", Data: bytes.Repeat([]byte("name: shop\n"), 1000)})
	for name, c := range map[string]struct {
		archive []byte
		want    string
	}{
		"not gzipped":      {[]byte("tar"), "not a gzipped tar"},
		"truncated":        {good[:len(good)/2], "damaged"},
		"empty":            {pack(t), "holds no files"},
		"a parent":         {pack(t, helm.File{Name: "shop/../../etc/passwd"}), "not in the chart's folder"},
		"only a parent":    {pack(t, helm.File{Name: "../shop/Chart.yaml"}), "not in the chart's folder"},
		"an absolute name": {pack(t, helm.File{Name: "/etc/passwd"}), "not in the chart's folder"},
		"a double slash":   {pack(t, helm.File{Name: "shop//etc/passwd"}), "not in the chart's folder"},
		"no folder":        {pack(t, helm.File{Name: "Chart.yaml"}), "not in the chart's folder"},
		"a drive":          {pack(t, helm.File{Name: `shop\c:\a`}), "not in the chart's folder"},
		"too many files":   {pack(t, many...), "more than 10000 files"},
		"a bomb of a file": {bomb(t, "shop/a", 1), "128 MiB"},
		"a bomb of files":  {bomb(t, "shop/a", 16), "128 MiB"},
	} {
		if _, err := Unpack(c.archive); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

// bomb returns an archive of a few hundred kilobytes that unpacks to more than the limit, in so many files.
func bomb(t *testing.T, name string, files int64) []byte {
	t.Helper()
	var out bytes.Buffer
	zip, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err != nil {
		t.Fatal(err)
	}
	w := tar.NewWriter(zip)
	size := MaxUnpackedBytes/files + 1
	for range files {
		if err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Size: size}); err != nil {
			t.Fatal(err)
		}
		if _, err := io.CopyN(w, zeros{}, size); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := zip.Close(); err != nil {
		t.Fatal(err)
	}
	if out.Len() > 1<<20 {
		t.Fatalf("no bomb: %d bytes", out.Len())
	}
	return out.Bytes()
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

func TestLinksAreLeftOut(t *testing.T) {
	var out bytes.Buffer
	zip := gzip.NewWriter(&out)
	w := tar.NewWriter(zip)
	for _, h := range []tar.Header{
		{Typeflag: tar.TypeSymlink, Name: "shop/values.yaml", Linkname: "/etc/passwd"},
		{Typeflag: tar.TypeLink, Name: "shop/a", Linkname: "/etc/passwd"},
		{Typeflag: tar.TypeChar, Name: "shop/b"}, {Typeflag: tar.TypeDir, Name: "shop/"},
		{Typeflag: tar.TypeReg, Name: "shop/Chart.yaml"},
	} {
		if err := w.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := zip.Close(); err != nil {
		t.Fatal(err)
	}
	files, err := Unpack(out.Bytes())
	if err != nil || len(files) != 1 || files[0].Name != "Chart.yaml" {
		t.Errorf("got %v %v", files, err)
	}
}

func FuzzUnpack(f *testing.F) {
	for _, name := range []string{"shop/Chart.yaml", "shop/../a", `shop\a`, "/a/b", "shop/./b"} {
		var out bytes.Buffer
		zip := gzip.NewWriter(&out)
		w := tar.NewWriter(zip)
		_ = w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Size: 1}) // a seed
		_, _ = w.Write([]byte("x"))
		_ = w.Close()
		_ = zip.Close()
		f.Add(out.Bytes())
	}
	f.Fuzz(func(t *testing.T, archive []byte) {
		files, err := Unpack(archive)
		total := 0
		for _, file := range files {
			total += len(file.Data)
			if file.Name != path.Clean(file.Name) || path.IsAbs(file.Name) || strings.HasPrefix(file.Name, "..") ||
				file.Name == "." {
				t.Errorf("name %q", file.Name)
			}
		}
		if total > MaxUnpackedBytes || len(files) > MaxFiles || err == nil && len(files) == 0 {
			t.Errorf("%d bytes, %d files, %v", total, len(files), err)
		}
	})
}
