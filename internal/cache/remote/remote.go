// Package remote has caches behind servers that speak the HTTP protocol of Bazel's remote cache; who imports it can open them.
package remote

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"tileiras/internal/cache"
)

func init() { cache.Server = open }

// Patience is how long a server may do nothing, by default, before it counts as dead: for each step of a connection, from when the request is
// written until it answers, and between two parts of an answer or of what it takes.
var Patience = 200 * time.Millisecond

// rest is how long a server that was dead is not asked; then one exchange tries it.
const rest = 30 * time.Second

// An exchange may take tenfold the patience, and the time of its bytes at leastRate in a second: a server that sends byte after byte counts as
// dead too.
const (
	exchanges = 10
	leastRate = 1 << 20
)

// maxAnswer is the most bytes that are read of what a server answers to a PUT.
const maxAnswer = 1 << 16

// now is the clock.
var now = time.Now

// server keeps files behind HTTP.
type server struct {
	base     *url.URL
	client   *http.Client
	patience time.Duration
	health   health
}

// health is whether a server is dead.
type health struct {
	mu      sync.Mutex
	dead    bool
	until   time.Time // when it is tried again
	onTrial bool      // an exchange tries it
}

// admit says whether an exchange may begin, and whether it is the trial of a server that was dead.
func (h *health) admit() (trial bool, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case !h.dead:
		return false, nil
	case h.onTrial || now().Before(h.until):
		return false, cache.ErrDead
	}
	h.onTrial = true
	return true, nil
}

// note takes down how an exchange went: well, or because of the server not, or neither, where the caller ended it.
func (h *health) note(trial, well, dead bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if trial {
		h.onTrial = false
		h.dead = h.dead && !well
	}
	if dead {
		h.dead, h.until = true, now().Add(rest)
	}
}

func open(place string, patience time.Duration) (cache.Store, error) {
	u, err := url.Parse(place)
	if err != nil || u.Host == "" {
		return nil, errors.New("it is no URL of a cache")
	}
	return &server{base: u, patience: cmp.Or(patience, Patience), client: &http.Client{
		Transport: &http.Transport{Proxy: http.ProxyFromEnvironment, MaxIdleConnsPerHost: 8, IdleConnTimeout: 10 * time.Second},
	}}, nil
}

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
// so long as the patience, and when it takes longer than its bytes may.
func (s *server) do(outer context.Context, method, space, name string, body []byte, most int64) (status int, data []byte, err error) {
	trial, err := s.health.admit()
	if err != nil {
		return 0, nil, err
	}
	ctx, cancel := context.WithCancel(outer)
	defer cancel()
	c := newClock(s.patience, cancel)
	defer c.idle.Stop()
	defer func() {
		dead := err != nil && outer.Err() == nil
		s.health.note(trial, err == nil, dead)
		switch {
		case dead && c.late.Load():
			err = fmt.Errorf("%s is too slow: %d bytes in %v", s.base.Redacted(), c.moved.Load(), now().Sub(c.start).Round(time.Millisecond))
		case dead && ctx.Err() != nil:
			err = fmt.Errorf("%s did not answer within %v", s.base.Redacted(), s.patience)
		}
	}()
	var in io.Reader
	if body != nil {
		in = &moving{bytes.NewReader(body), c}
	}
	req, err := http.NewRequestWithContext(httptrace.WithClientTrace(ctx, c.steps()), method, s.base.JoinPath(space, name).String(), in)
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
	patience time.Duration
	start    time.Time
	idle     *time.Timer // to the end of the patience
	begun    atomic.Int64
	moved    atomic.Int64
	late     atomic.Bool
}

// newClock starts a clock that ends an exchange in which nothing moves. When a process has more to do than its processors can, an answer may
// be there and nobody had a turn to read it: so all that are ready have one before that.
func newClock(patience time.Duration, end func()) *clock {
	c := &clock{patience: patience, start: now()}
	c.idle = time.AfterFunc(patience, func() {
		before := c.begun.Load()
		for range turns {
			runtime.Gosched()
		}
		if c.begun.Load() == before {
			end()
		}
	})
	return c
}

// turns is how often others have a turn before an exchange ends: an answer goes through several goroutines.
const turns = 8

// step begins the wait for the next thing anew.
func (c *clock) step() {
	c.begun.Add(1)
	c.idle.Reset(c.patience)
}

// steps has the parts of an exchange that move no bytes of the body be steps: the wait for an answer begins when the request is written.
func (c *clock) steps() *httptrace.ClientTrace {
	return &httptrace.ClientTrace{
		ConnectStart:         func(string, string) { c.step() },
		ConnectDone:          func(string, string, error) { c.step() },
		TLSHandshakeDone:     func(tls.ConnectionState, error) { c.step() },
		WroteRequest:         func(httptrace.WroteRequestInfo) { c.step() },
		GotFirstResponseByte: c.step,
	}
}

var errLate = errors.New("too slow")

// move counts bytes that moved: the wait for the next begins anew, unless all took too long.
func (c *clock) move(n int) error {
	moved := c.moved.Add(int64(n))
	if now().Sub(c.start) > exchanges*c.patience+time.Duration(float64(moved)/leastRate*float64(time.Second)) {
		c.late.Store(true)
		return errLate
	}
	c.step()
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
