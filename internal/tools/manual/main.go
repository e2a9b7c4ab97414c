// Command manual makes a site from the pages in docs/, or serves it on loopback.
//
//	go -C internal/tools/manual run . -root ../../.. -out bin/manual
//	go -C internal/tools/manual run . -root ../../.. -serve 127.0.0.1:8000
//
// The pages are written for forges: the site only turns links to pages into links to their HTML. docs/README.md is the
// first page of the manual, and its lists are the navigation, in reading order. A page that is not listed, and a
// broken link or anchor, are errors.
//
// The site is self-contained: it works without a network, and in a browser that opens its files. Only the search needs
// JavaScript.
//
// It is a separate module, because the programs need no Markdown.
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path"
	"path/filepath"
	"strings"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	root := flag.String("root", ".", "the `folder` of the repository")
	out := flag.String("out", "", "the `folder` that gets the site")
	address := flag.String("serve", "", "the `address` to serve the site on, instead of writing it")
	flag.Parse()
	if err := run(ctx, *root, *out, *address); err != nil {
		fmt.Fprintln(os.Stderr, "manual:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, root, out, address string) error {
	if (out == "") == (address == "") {
		return errors.New("set -out or -serve")
	}
	files, err := build(root)
	if err != nil {
		return err
	}
	if out != "" {
		return write(out, files)
	}
	return serve(ctx, address, root)
}

// write writes the site into a folder, and removes files of an earlier site.
func write(out string, files map[string][]byte) error {
	if err := os.RemoveAll(out); err != nil {
		return err
	}
	for name, data := range files {
		name = filepath.Join(out, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
			return err
		}
		if err := os.WriteFile(name, data, 0o666); err != nil {
			return err
		}
	}
	return nil
}

// serve serves the site until the context ends.
func serve(ctx context.Context, address, root string) error {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	server := &http.Server{Handler: handler(root), ReadHeaderTimeout: 10 * time.Second}
	stop := context.AfterFunc(ctx, func() { _ = server.Close() }) // Serve returns the error.
	defer stop()
	fmt.Printf("The manual is at http://%s/. Reload a page to see your edits.\n", listener.Addr())
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// handler rebuilds the site for each request, so that it shows the latest edits.
func handler(root string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		files, err := build(root)
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		name := strings.TrimPrefix(r.URL.Path, "/")
		if name == "" || strings.HasSuffix(name, "/") {
			name = path.Join(name, "index.html")
		}
		data, ok := files[name]
		if !ok {
			http.NotFound(w, r)
			return
		}
		http.ServeContent(w, r, name, time.Time{}, bytes.NewReader(data))
	})
}
