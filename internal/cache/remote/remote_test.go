package remote

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"tileiras/internal/cache"
)

// setClock makes every look at the clock find it so much later.
func setClock(t *testing.T, step time.Duration) {
	oldNow, oldPatience := now, Patience
	var at atomic.Int64
	Patience = time.Minute // of real time, which no test waits for
	now = func() time.Time { return time.Unix(0, at.Add(int64(step))) }
	t.Cleanup(func() { now, Patience = oldNow, oldPatience })
}

// drip is a server that sends an answer without an end, byte after byte, and takes what it is sent.
func drip(t *testing.T) (url string, sent *atomic.Int64) {
	sent = &atomic.Int64{}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		for r.Context().Err() == nil {
			if _, err := w.Write([]byte("x")); err != nil {
				return
			}
			w.(http.Flusher).Flush()
			sent.Add(1)
		}
	}))
	t.Cleanup(s.Close)
	return s.URL, sent
}

// A server that moves a byte now and then is dead once the exchange took longer than its bytes may.
func TestDrippingServer(t *testing.T) {
	setClock(t, 10*time.Second)
	url, _ := drip(t)
	c, err := cache.Open(url, 0)
	if err != nil {
		t.Fatal(err)
	}
	key := cache.Key([]byte("a"))
	if _, err := c.Get(t.Context(), key); err == nil || !strings.Contains(err.Error(), "is too slow") {
		t.Errorf("Get gives %v, want that the server is too slow", err)
	}
	if _, err := c.Get(t.Context(), key); !errors.Is(err, cache.ErrDead) {
		t.Errorf("the second Get gives %v, want %v", err, cache.ErrDead)
	}
	c, err = cache.Open(url, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Put(t.Context(), key, []cache.File{{Name: "output", Data: make([]byte, 100)}}); err == nil || !strings.Contains(err.Error(), "is too slow") {
		t.Errorf("Put gives %v, want that the server is too slow", err)
	}
}

// What moves at the least rate is not late, however long it takes.
func TestLeastRate(t *testing.T) {
	setClock(t, time.Second)
	c := newClock(Patience, func() {})
	for i := range 10000 {
		if err := c.move(leastRate); err != nil {
			t.Fatalf("after %d s at the least rate: %v", i, err)
		}
	}
	c = newClock(Patience, func() {})
	n := 1
	for ; c.move(0) == nil; n++ {
	}
	if n != 601 || !c.late.Load() {
		t.Errorf("late at second %d, want 601, after ten minutes", n)
	}
}

// A server that was dead is tried again after a while, by one exchange, and is alive when that goes well.
func TestDeadServerIsTriedAgain(t *testing.T) {
	oldNow, oldPatience := now, Patience
	t.Cleanup(func() { now, Patience = oldNow, oldPatience })
	var seconds, asked atomic.Int64
	now = func() time.Time { return time.Unix(seconds.Load(), 0) }
	var silent atomic.Bool
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		if silent.Load() {
			<-r.Context().Done()
		}
		http.NotFound(w, r)
	}))
	t.Cleanup(s.Close)
	c, err := cache.Open(s.URL, 50*time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	get := func() error { _, err := c.Get(t.Context(), cache.Key([]byte("a"))); return err }
	silent.Store(true)
	if err := get(); err == nil || !strings.HasSuffix(err.Error(), "did not answer within 50ms") {
		t.Errorf("a silent server: %v", err)
	}
	for range 2 {
		if err := get(); !errors.Is(err, cache.ErrDead) || asked.Load() != 1 {
			t.Errorf("soon after: %v, asked %d times; want %v, once", err, asked.Load(), cache.ErrDead)
		}
		seconds.Add(29)
	}
	if err := get(); err == nil || errors.Is(err, cache.ErrDead) || asked.Load() != 2 {
		t.Errorf("the trial that fails: %v, asked %d times", err, asked.Load())
	}
	seconds.Add(29)
	silent.Store(false)
	if err := get(); !errors.Is(err, cache.ErrDead) {
		t.Errorf("soon after the trial: %v", err)
	}
	seconds.Add(2)
	for range 2 {
		if err := get(); !errors.Is(err, cache.ErrMiss) {
			t.Errorf("it answers again: %v", err)
		}
	}
}

// While one exchange tries a server the others do not wait for it, and one that the caller ends decides nothing.
func TestOneTrial(t *testing.T) {
	h := &health{dead: true}
	if trial, err := h.admit(); !trial || err != nil {
		t.Errorf("the first after a while is no trial: %v", err)
	}
	if _, err := h.admit(); !errors.Is(err, cache.ErrDead) {
		t.Errorf("another beside the trial: %v", err)
	}
	h.note(false, true, false) // one that began before the server was dead
	if _, err := h.admit(); !errors.Is(err, cache.ErrDead) {
		t.Errorf("another beside the trial: %v", err)
	}
	h.note(true, false, false)
	if trial, err := h.admit(); !trial || err != nil {
		t.Errorf("after a trial that the caller ended there is no other: %v", err)
	}
	h.note(true, true, false)
	if trial, err := h.admit(); trial || err != nil {
		t.Errorf("after a good trial: trial %v, %v", trial, err)
	}
}
