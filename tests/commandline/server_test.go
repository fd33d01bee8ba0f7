package commandline

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// TestCacheBehindAServer builds the commands themselves: tileiras links nothing that speaks to servers, and hands over to the tilerun beside it.
func TestCacheBehindAServer(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"tileiras", "tilerun"} {
		build := exec.Command("go", "build", "-o", dir+string(filepath.Separator), "tileiras/cmd/"+name)
		if out, err := build.CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s", build.Args, err, out)
		}
	}
	var mu sync.Mutex
	files, asked := map[string][]byte{}, ""
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		mu.Lock()
		defer mu.Unlock()
		asked += r.Method + " "
		if r.Method == http.MethodPut {
			files[r.URL.Path] = body
		} else if data, ok := files[r.URL.Path]; ok {
			w.Write(data)
		} else {
			http.NotFound(w, r)
		}
	}))
	defer server.Close()

	compile := func(args ...string) (ptx, stderr string) {
		t.Helper()
		out := filepath.Join(dir, "kernel.ptx")
		os.Remove(out)
		cmd := exec.CommandContext(t.Context(), filepath.Join(dir, "tileiras"), append(args, "--gpu-name=sm_80", "-o", out, "-")...)
		cmd.Stdin = strings.NewReader("entry @k() { return }")
		cmd.Env = append(os.Environ(), "PATH=")
		said, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %v\n%s", cmd.Args, err, said)
		}
		data, err := os.ReadFile(out)
		if err != nil {
			t.Fatal(err)
		}
		return string(data), string(said)
	}
	want, _ := compile()
	for _, requests := range []string{"GET PUT PUT PUT ", "GET GET GET "} {
		asked = ""
		if ptx, said := compile("--cache", server.URL); ptx != want || said != "" || asked != requests {
			t.Errorf("asked %q, want %q; the PTX is as it was: %t; standard error:\n%s", asked, requests, ptx == want, said)
		}
	}
	for _, name := range []string{"tilerun", "tilerun.exe"} {
		os.Remove(filepath.Join(dir, name))
	}
	asked = ""
	if ptx, said := compile("--cache", server.URL); ptx != want || !strings.Contains(said, "only tilerun speaks to servers") || asked != "" {
		t.Errorf("without tilerun: asked %q; the PTX is as it was: %t; standard error:\n%s", asked, ptx == want, said)
	}
}
