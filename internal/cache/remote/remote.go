// Package remote has caches behind servers that speak the HTTP protocol of Bazel's remote cache; who imports it can open them.
package remote

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"tileiras/internal/cache"
)

func init() { cache.Server = open }

// Patience is how long a server may do nothing before it counts as dead: until it answers, and between two parts of an answer or of
// what it takes.
var Patience = 200 * time.Millisecond

// An exchange may take tenfold Patience, and the time of its bytes at leastRate in a second: a server that sends byte after byte counts as
// dead too.
const (
	exchanges = 10
	leastRate = 1 << 20
)

// maxAnswer is the most bytes that are read of what a server answers to a PUT.
const maxAnswer = 1 << 16

// now is the clock.
var now = time.Now

// server keeps files behind HTTP. Once it was dead it is not asked again: a process has paid for it once.
type server struct {
	base   *url.URL
	client *http.Client
	dead   atomic.Bool
}

func open(place string) (cache.Store, error) {
	u, err := url.Parse(place)
	if err != nil || u.Host == "" {
		return nil, fmt.Errorf("%q is no URL of a cache", place)
	}
	return &server{base: u, client: &http.Client{
		Transport: &http.Transport{Proxy: http.ProxyFromEnvironment, MaxIdleConnsPerHost: 8, IdleConnTimeout: 10 * time.Second},
	}}, nil
}

// ErrDead says that the server did not answer in an earlier call and is not asked any more.
var ErrDead = errors.New("the cache did not answer before and is not asked again")

// Read gets a file.
func (s *server) Read(ctx context.Context, space, name string, most int64) ([]byte, error) {
	status, data, err := s.do(ctx, http.MethodGet, space, name, nil, most)
	switch {
	case err != nil:
		return nil, err
	case status == http.StatusNotFound || status == http.StatusNoContent:
		return nil, cache.ErrMiss
	case status != http.StatusOK:
		return nil, s.refused(http.MethodGet, status, data)
	}
	return data, nil
}

// Write puts a file.
func (s *server) Write(ctx context.Context, space, name string, data []byte) error {
	status, answer, err := s.do(ctx, http.MethodPut, space, name, data, maxAnswer)
	if err == nil && status/100 != 2 {
		err = s.refused(http.MethodPut, status, answer)
	}
	return err
}

func (s *server) refused(method string, status int, answer []byte) error {
	text, _, _ := strings.Cut(strings.TrimSpace(string(answer[:min(len(answer), 200)])), "\n")
	return fmt.Errorf("%s: %s: status %d %s", s.base.Redacted(), method, status, text)
}

// do is one exchange; it reads most bytes of the answer, and one to tell that there are more. It ends with its context, when nothing moves for
// so long as Patience, and when it takes longer than its bytes may.
func (s *server) do(outer context.Context, method, space, name string, body []byte, most int64) (status int, data []byte, err error) {
	if s.dead.Load() {
		return 0, nil, ErrDead
	}
	ctx, cancel := context.WithCancel(outer)
	defer cancel()
	c := &clock{start: now(), idle: time.AfterFunc(Patience, cancel)}
	defer c.idle.Stop()
	defer func() {
		if err != nil && outer.Err() == nil {
			s.dead.Store(true)
			switch {
			case c.late.Load():
				err = fmt.Errorf("%s is too slow: %d bytes in %v", s.base.Redacted(), c.moved.Load(), now().Sub(c.start).Round(time.Millisecond))
			case ctx.Err() != nil:
				err = fmt.Errorf("%s did not answer within %v", s.base.Redacted(), Patience)
			}
		}
	}()
	var in io.Reader
	if body != nil {
		in = &moving{bytes.NewReader(body), c}
	}
	req, err := http.NewRequestWithContext(ctx, method, s.base.JoinPath(space, name).String(), in)
	if err != nil {
		return 0, nil, err
	}
	if body != nil {
		req.ContentLength = int64(len(body))
		req.Header.Set("Content-Type", "application/octet-stream")
	}
	res, err := s.client.Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer res.Body.Close()
	data, err = io.ReadAll(io.LimitReader(&moving{res.Body, c}, most+1))
	return res.StatusCode, data, err
}

// clock is what an exchange has taken. Both directions of it may use it at once.
type clock struct {
	start time.Time
	idle  *time.Timer // to the end of Patience
	moved atomic.Int64
	late  atomic.Bool
}

var errLate = errors.New("too slow")

// move counts bytes that moved: the wait for the next begins anew, unless all took too long.
func (c *clock) move(n int) error {
	moved := c.moved.Add(int64(n))
	if now().Sub(c.start) > exchanges*Patience+time.Duration(float64(moved)/leastRate*float64(time.Second)) {
		c.late.Store(true)
		return errLate
	}
	c.idle.Reset(Patience)
	return nil
}

// moving tells the clock whenever bytes move.
type moving struct {
	io.Reader
	clock *clock
}

func (m *moving) Read(p []byte) (int, error) {
	n, err := m.Reader.Read(p)
	if n > 0 && err == nil {
		err = m.clock.move(n)
	}
	return n, err
}
