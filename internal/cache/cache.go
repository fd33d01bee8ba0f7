// Package cache keeps the results of compiles, by a key that names everything that they follow from: in a folder, or, with package remote, in
// a server that speaks the HTTP protocol of Bazel's remote cache (bazel-remote, nginx, Bazel's own). Both have two spaces (Bazel, "Remote
// caching", HTTP caching protocol):
//
//	ac/KEY       what an action gave: an ActionResult, which names files by their digests
//	cas/DIGEST   a file, by the SHA-256 of its content
//
// Nothing from a cache is believed: a file must have the digest under which it lies, and name the key for which it was made. What fails
// that is a miss that says so, and the next Put replaces it.
package cache

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// File is one file of a result.
type File struct {
	Name string
	Data []byte
}

// Cache is a folder or a server. It may be used from any number of goroutines, and by any number of processes at once.
type Cache interface {
	// Get returns what was put under a key. Without an entry it returns ErrMiss; an entry that is not what it must be is an error that
	// says so, and so is a server that does not answer in time.
	Get(ctx context.Context, key string) ([]File, error)
	// Put stores files under a key, or what was there stays.
	Put(ctx context.Context, key string, files []File) error
}

// ErrMiss says that there is no entry.
var ErrMiss = errors.New("no entry")

// ErrPoisoned is in the chain of the error of an entry whose content is not what its names say.
var ErrPoisoned = errors.New("poisoned entry")

// ErrDead says that a server did not answer in an earlier call, whose error said so, and is not asked for a while.
var ErrDead = errors.New("the cache did not answer before and is not asked for a while")

// Open is the cache at a place: an http:// or https:// URL, which may hold user and password, else a folder, made when needed.
// patience is how long a server may do nothing; 0 is as long as package remote says.
func Open(place string, patience time.Duration) (Cache, error) {
	if behindServer(place) {
		open := Server
		if open == nil {
			open = func(string, time.Duration) (Store, error) { return unreachable{}, nil }
		}
		store, err := open(place, patience)
		if err != nil {
			return nil, fmt.Errorf("%q: %w", Shown(place), err)
		}
		return over(store), nil
	}
	if place == "" || strings.Contains(place, "://") {
		return nil, fmt.Errorf("%q is no cache: it is a folder or an http:// URL", Shown(place))
	}
	return over(folder(place)), nil
}

// Shown is a place without what stands before the last @ of a URL's host, a user and a password, whatever else is wrong with it.
func Shown(place string) string {
	scheme, rest, ok := strings.Cut(place, "://")
	if at := strings.LastIndexByte(rest, '@'); ok && at >= 0 {
		return scheme + "://" + rest[at+1:]
	}
	return place
}

// Key is the name of what follows from the parts, which are told apart by their lengths.
func Key(parts ...[]byte) string {
	h := sha256.New()
	for _, p := range parts {
		fmt.Fprintf(h, "%d:", len(p))
		h.Write(p)
	}
	return hex.EncodeToString(h.Sum(nil))
}

func digestOf(data []byte) digest {
	sum := sha256.Sum256(data)
	return digest{hex.EncodeToString(sum[:]), int64(len(data))}
}

// Server is what lies behind a URL. Package remote sets it; a program without it knows folders only, for what speaks to networks takes a
// twentieth of a small compile to start.
var Server func(place string, patience time.Duration) (Store, error)

// unreachable is a server for a program that knows none.
type unreachable struct{}

var errUnreachable = errors.New("only tilerun speaks to servers, and it is neither beside this program nor on PATH")

func (unreachable) Read(context.Context, string, string, int64) ([]byte, error) {
	return nil, errUnreachable
}
func (unreachable) Write(context.Context, string, string, []byte) error { return errUnreachable }

// OutOfReach reports whether a place is behind a server and this program knows none.
func OutOfReach(place string) bool { return Server == nil && behindServer(place) }

func behindServer(place string) bool {
	return strings.HasPrefix(place, "http://") || strings.HasPrefix(place, "https://")
}

// Store is where bytes lie under names like ac/12ab.
type Store interface {
	// Read gives ErrMiss when there are none. Of more than most bytes it gives most and one.
	Read(ctx context.Context, space, name string, most int64) ([]byte, error)
	Write(ctx context.Context, space, name string, data []byte) error
}

// over is the cache that keeps its files in a store.
func over(s Store) Cache { return stored{s} }

type stored struct{ Store }

// The most bytes of what an action gave, which is a list of names, and of the files of a result together.
const (
	maxResult = 1 << 20
	maxFiles  = 1 << 30
)

func (s stored) Get(ctx context.Context, key string) ([]File, error) {
	data, err := s.Read(ctx, "ac", key, maxResult)
	if err != nil {
		return nil, err
	}
	if len(data) > maxResult {
		return nil, fmt.Errorf("%w ac/%s: it has more than %d bytes", ErrPoisoned, key, maxResult)
	}
	names, err := decodeResult(data)
	if err != nil {
		return nil, fmt.Errorf("%w ac/%s: %v", ErrPoisoned, key, err)
	}
	left := int64(maxFiles)
	for _, n := range names {
		if n.digest.size < 0 || n.digest.size > left {
			return nil, fmt.Errorf("%w ac/%s: it names files of more than %d bytes", ErrPoisoned, key, maxFiles)
		}
		left -= n.digest.size
	}
	var files []File
	for _, n := range names {
		data, err := s.Read(ctx, "cas", n.digest.hash, n.digest.size)
		switch {
		case err != nil:
			return nil, err
		case int64(len(data)) > n.digest.size:
			return nil, fmt.Errorf("%w cas/%s: it has more bytes than ac/%s says", ErrPoisoned, n.digest.hash, key)
		case digestOf(data) != n.digest:
			return nil, fmt.Errorf("%w cas/%s: its content has another digest", ErrPoisoned, n.digest.hash)
		}
		files = append(files, File{n.path, data})
	}
	return files, nil
}

func (s stored) Put(ctx context.Context, key string, files []File) error {
	var names []outputFile
	for _, f := range files {
		d := digestOf(f.Data)
		if err := s.Write(ctx, "cas", d.hash, f.Data); err != nil {
			return err
		}
		names = append(names, outputFile{f.Name, d})
	}
	return s.Write(ctx, "ac", key, encodeResult(names)) // last: what it names is there
}

// folder keeps files in a file system, in subfolders by the first two digits of a name.
type folder string

func (d folder) file(space, name string) string {
	return filepath.Join(string(d), space, name[:2], name)
}

// Read reads a file.
func (d folder) Read(_ context.Context, space, name string, most int64) ([]byte, error) {
	f, err := openFile(d.file(space, name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, ErrMiss
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, errors.Join(err, fmt.Errorf("%s is no regular file", f.Name()))
	}
	return io.ReadAll(io.LimitReader(f, most+1))
}

// Write makes a file of its own first and renames it, so that nobody ever reads a part.
func (d folder) Write(_ context.Context, space, name string, data []byte) error {
	file := d.file(space, name)
	if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
		return err
	}
	tmp, err := os.CreateTemp(filepath.Dir(file), ".new-*")
	if err != nil {
		return err
	}
	_, err = tmp.Write(data)
	err = errors.Join(err, tmp.Chmod(0o644), tmp.Close())
	if err == nil {
		err = os.Rename(tmp.Name(), file)
	}
	if err != nil {
		os.Remove(tmp.Name())
	}
	return err
}
