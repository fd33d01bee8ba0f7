package cache_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tileiras/internal/cache"
	"tileiras/internal/cache/remote"
)

// bazel is a server of Bazel's remote cache protocol that, as bazel-remote, takes an entry of ac only when it is an ActionResult whose
// files it has, and a file only under its own digest.
type bazel struct {
	mu    sync.Mutex
	space map[string][]byte // by path
	asked []string
}

func (s *bazel) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked = append(s.asked, r.Method+" "+r.URL.Path[:min(len(r.URL.Path), 8)])
	if user, password, _ := r.BasicAuth(); user != "trainer" || password != "secret" {
		http.Error(w, "who are you?", http.StatusUnauthorized)
		return
	}
	parts := strings.Split(r.URL.Path, "/") // "", pool, ac, hash
	if len(parts) != 4 || parts[1] != "pool" || len(parts[3]) != 64 {
		http.Error(w, "bad path", http.StatusBadRequest)
		return
	}
	switch data, ok := s.space[r.URL.Path]; {
	case r.Method == http.MethodGet && !ok:
		http.NotFound(w, r)
	case r.Method == http.MethodGet:
		w.Write(data)
	case r.Method == http.MethodPut:
		data, _ := io.ReadAll(r.Body)
		if parts[2] == "cas" && cache.DigestOf(data) != parts[3] {
			http.Error(w, "wrong digest", http.StatusBadRequest)
			return
		}
		if parts[2] == "ac" {
			digests, err := cache.DigestsIn(data)
			for _, d := range digests {
				if s.space["/pool/cas/"+d] == nil {
					err = errors.New("a file is missing")
				}
			}
			if err != nil {
				http.Error(w, err.Error(), http.StatusBadRequest)
				return
			}
		}
		s.space[r.URL.Path] = data
	}
}

// wait sets the patience for a test: the machine may be busy.
func wait(t *testing.T, d time.Duration) {
	old := remote.Patience
	remote.Patience = d
	t.Cleanup(func() { remote.Patience = old })
}

func serve(t *testing.T) (*bazel, string) {
	wait(t, time.Minute)
	s := &bazel{space: map[string][]byte{}}
	h := httptest.NewServer(s)
	t.Cleanup(h.Close)
	return s, strings.Replace(h.URL, "http://", "http://trainer:secret@", 1) + "/pool"
}

func open(t *testing.T, place string) cache.Cache {
	c, err := cache.Open(place, 0)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

var files = []cache.File{{"output", []byte("the PTX\n")}, {"result.json", []byte("{}")}, {"empty", nil}}

// TestRoundTrip holds for both kinds of cache: a miss, then what was put, also for a process that opens the cache anew.
func TestRoundTrip(t *testing.T) {
	_, url := serve(t)
	for _, place := range []string{filepath.Join(t.TempDir(), "made", "later"), url} {
		key := cache.Key([]byte("a"), []byte("b"))
		c := open(t, place)
		if got, err := c.Get(t.Context(), key); !errors.Is(err, cache.ErrMiss) {
			t.Errorf("%s: before Put: %v, %v", place, got, err)
		}
		if err := c.Put(t.Context(), key, files); err != nil {
			t.Errorf("%s: %v", place, err)
		}
		got, err := open(t, place).Get(t.Context(), key)
		if err != nil || len(got) != len(files) {
			t.Fatalf("%s: %v, %v", place, got, err)
		}
		for i := range files {
			if got[i].Name != files[i].Name || !bytes.Equal(got[i].Data, files[i].Data) {
				t.Errorf("%s: file %d is %q, want %q", place, i, got[i], files[i])
			}
		}
		if got, err := c.Get(t.Context(), cache.Key([]byte("ab"), nil)); !errors.Is(err, cache.ErrMiss) {
			t.Errorf("%s: another key: %v, %v", place, got, err)
		}
	}
}

// TestPoisonedEntries changes every file of a cache in every way that keeps its name: each Get then says so, and a Put repairs it.
func TestPoisonedEntries(t *testing.T) {
	key := cache.Key([]byte("a"))
	for _, how := range []struct {
		name string
		edit func([]byte) []byte
	}{
		{"cut", func(b []byte) []byte { return b[:len(b)/2] }},
		{"flipped", func(b []byte) []byte { b[len(b)/2] ^= 1; return b }},
		{"longer", func(b []byte) []byte { return append(b, 'x') }},
		{"emptied", func([]byte) []byte { return nil }},
	} {
		dir := t.TempDir()
		c := open(t, dir)
		if err := c.Put(t.Context(), key, files[:2]); err != nil {
			t.Fatal(err)
		}
		var stored []string
		filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err == nil && !d.IsDir() {
				stored = append(stored, path)
			}
			return err
		})
		if len(stored) != 3 {
			t.Fatalf("the cache has %d files, want 3", len(stored))
		}
		for _, file := range stored {
			was, _ := os.ReadFile(file)
			os.WriteFile(file, how.edit(bytes.Clone(was)), 0o644)
			got, err := c.Get(t.Context(), key)
			if err == nil || !errors.Is(err, cache.ErrPoisoned) && !errors.Is(err, cache.ErrMiss) {
				t.Errorf("%s, %s: %q, %v; want an error", how.name, filepath.Base(filepath.Dir(filepath.Dir(file))), got, err)
			}
			if err := c.Put(t.Context(), key, files[:2]); err != nil {
				t.Errorf("%s: %v", how.name, err)
			}
			if got, err := c.Get(t.Context(), key); err != nil || !bytes.Equal(got[0].Data, files[0].Data) {
				t.Errorf("%s: not repaired: %q, %v", how.name, got, err)
			}
		}
	}
}

// TestDeadServers: each way of being dead is an error, within the patience, that later calls do not wait for again.
func TestDeadServers(t *testing.T) {
	wait(t, 50*time.Millisecond)
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed.Close()
	silent, err := net.Listen("tcp", "127.0.0.1:0") // takes connections and says nothing
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	stuck := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", "1000000")
		w.Write([]byte("half an answer"))
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	}))
	defer stuck.Close()
	for name, url := range map[string]string{
		"closed": "http://" + closed.Addr().String(), "silent": "http://" + silent.Addr().String(), "stuck": stuck.URL,
	} {
		c := open(t, url)
		if _, err := c.Get(t.Context(), cache.Key([]byte("a"))); err == nil || errors.Is(err, cache.ErrMiss) || errors.Is(err, cache.ErrDead) {
			t.Errorf("%s: the first Get gives %v, want what is wrong", name, err)
		}
		if _, err := c.Get(t.Context(), cache.Key([]byte("b"))); !errors.Is(err, cache.ErrDead) {
			t.Errorf("%s: the second Get gives %v, want %v", name, err, cache.ErrDead)
		}
		if err := c.Put(t.Context(), cache.Key([]byte("b")), files); !errors.Is(err, cache.ErrDead) {
			t.Errorf("%s: Put gives %v, want %v", name, err, cache.ErrDead)
		}
	}
}

// TestNoFile: what is in the place of an entry and is no file is an error, and nobody waits for it.
func TestNoFile(t *testing.T) {
	dir, key := t.TempDir(), cache.Key([]byte("a"))
	place := filepath.Join(dir, "ac", key[:2], key)
	if err := os.MkdirAll(filepath.Dir(place), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, make := range map[string]func() error{
		"a pipe": func() error { return makePipe(place) }, "a folder": func() error { return os.Mkdir(place, 0o755) },
	} {
		if err := make(); err != nil {
			t.Skipf("%s: %v", name, err)
		}
		if _, err := open(t, dir).Get(t.Context(), key); err == nil || !strings.HasSuffix(err.Error(), "is no regular file") {
			t.Errorf("%s: %v", name, err)
		}
		os.Remove(place)
	}
}

// TestRefusals: a server that answers but does not want us is an error with its words, and stays alive.
func TestRefusals(t *testing.T) {
	_, url := serve(t)
	c := open(t, strings.Replace(url, "secret", "guess", 1))
	for range 2 {
		if _, err := c.Get(t.Context(), cache.Key()); err == nil || !strings.Contains(err.Error(), "status 401 who are you?") || strings.Contains(err.Error(), "guess") {
			t.Errorf("Get gives %v, want status 401 without the password", err)
		}
	}
	for _, place := range []string{"", "http://", "ftp://host/x", "ftp://u:guess@host/x", "http://u:guess@[host", "https://u:gu@ess@ho st"} {
		if c, err := cache.Open(place, 0); err == nil || strings.Contains(err.Error(), "gu") {
			t.Errorf("Open(%q) = %v, %v, want an error without the password", place, c, err)
		}
	}
}

// TestFloods: of a server that sends more than an entry may have, no more is read than that.
func TestFloods(t *testing.T) {
	wait(t, time.Minute)
	key := cache.Key([]byte("a"))
	for _, space := range []string{"ac", "cas"} {
		s := &bazel{space: map[string][]byte{}}
		ended := make(chan int64, 1)
		h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method != http.MethodGet || !strings.HasPrefix(r.URL.Path, "/pool/"+space+"/") {
				r.SetBasicAuth("trainer", "secret")
				s.ServeHTTP(w, r)
				return
			}
			var sent int64
			for part := make([]byte, 1<<16); sent < 1<<28; sent += int64(len(part)) {
				if _, err := w.Write(part); err != nil {
					break
				}
			}
			ended <- sent
		}))
		defer h.Close()
		c := open(t, h.URL+"/pool")
		if err := c.Put(t.Context(), key, files[:1]); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Get(t.Context(), key); !errors.Is(err, cache.ErrPoisoned) || !strings.Contains(err.Error(), "more") {
			t.Errorf("%s: got %v, want a poisoned entry that has more bytes than it may", space, err)
		}
		if sent := <-ended; sent == 1<<28 {
			t.Errorf("%s: all of %d bytes were read", space, sent)
		}
	}
}

// TestManyWriters: whoever reads while many write the same and other keys gets a whole entry or none.
func TestManyWriters(t *testing.T) {
	_, url := serve(t)
	for _, place := range []string{t.TempDir(), url} {
		c := open(t, place)
		var wg sync.WaitGroup
		for g := range 16 {
			wg.Go(func() {
				for i := range 8 {
					key := cache.Key(fmt.Append(nil, i))
					want := []cache.File{{"output", bytes.Repeat(fmt.Append(nil, i), 1000)}}
					if got, err := c.Get(t.Context(), key); err == nil && !cmp.Equal(got, want) || err != nil && !errors.Is(err, cache.ErrMiss) {
						t.Errorf("%s: goroutine %d: Get(%d) = %.20v, %v", place, g, i, got, err)
					}
					if err := c.Put(t.Context(), key, want); err != nil {
						t.Errorf("%s: goroutine %d: Put(%d): %v", place, g, i, err)
					}
				}
			})
		}
		wg.Wait()
	}
}
