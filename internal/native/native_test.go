package native

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// program puts a shell script on a PATH that holds nothing else but the system's folders.
func program(t *testing.T, name, script string) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("no shell here")
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
}

func TestQueryReadsWhatTheHelpersPrint(t *testing.T) {
	program(t, "nvidia-smi", "echo '12.0, from nvidia-smi'")
	program(t, "tilerun", `[ "$1" = --gpus ] && printf '9.0, NVIDIA H200\n8.9, NVIDIA L4\n'`)
	got, err := Query(context.Background())
	if want := []GPU{{"NVIDIA H200", 90}, {"NVIDIA L4", 89}}; err != nil || !slices.Equal(got, want) {
		t.Errorf("got %v, %v", got, err)
	}
}

func TestQueryAsksTheNextHelper(t *testing.T) {
	program(t, "nvidia-smi", `[ "$*" = "--query-gpu=compute_cap,name --format=csv,noheader" ] && echo '12.0, NVIDIA GeForce RTX 5090'`)
	program(t, "tilerun", "echo 'error: no CUDA driver found' >&2; exit 2")
	got, err := Query(context.Background())
	if want := []GPU{{"NVIDIA GeForce RTX 5090", 120}}; err != nil || !slices.Equal(got, want) {
		t.Errorf("got %v, %v", got, err)
	}
}

func TestQuerySaysWhatEachHelperAnswered(t *testing.T) {
	program(t, "nvidia-smi", "echo 'NVIDIA-SMI has failed'; exit 9")
	program(t, "tilerun", "echo 'error: no CUDA driver found' >&2; exit 2")
	_, err := Query(context.Background())
	if err == nil || !strings.Contains(err.Error(), "tilerun --gpus: error: no CUDA driver found; ") || !strings.Contains(err.Error(), "NVIDIA-SMI has failed") {
		t.Errorf("got %v", err)
	}
	program(t, "tilerun", "echo 'three GPUs'")
	if _, err := Query(context.Background()); err == nil || !strings.Contains(err.Error(), `cannot understand its answer "three GPUs"`) {
		t.Errorf("got %v", err)
	}
	t.Setenv("PATH", t.TempDir())
	if _, err := Query(context.Background()); err == nil || !strings.Contains(err.Error(), "neither tilerun") {
		t.Errorf("got %v", err)
	}
}
