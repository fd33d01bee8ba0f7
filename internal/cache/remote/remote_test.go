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
	c, err := cache.Open(url)
	if err != nil {
		t.Fatal(err)
	}
	key := cache.Key([]byte("a"))
	if _, err := c.Get(t.Context(), key); err == nil || !strings.Contains(err.Error(), "is too slow") {
		t.Errorf("Get gives %v, want that the server is too slow", err)
	}
	if _, err := c.Get(t.Context(), key); !errors.Is(err, ErrDead) {
		t.Errorf("the second Get gives %v, want %v", err, ErrDead)
	}
	c, err = cache.Open(url)
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
	c := &clock{start: now(), idle: time.NewTimer(Patience)}
	for i := range 10000 {
		if err := c.move(leastRate); err != nil {
			t.Fatalf("after %d s at the least rate: %v", i, err)
		}
	}
	c = &clock{start: now(), idle: time.NewTimer(Patience)}
	n := 1
	for ; c.move(0) == nil; n++ {
	}
	if n != 601 || !c.late.Load() {
		t.Errorf("late at second %d, want 601, after ten minutes", n)
	}
}
