package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"tileiras/tests/ptxas"
)

// toolchain is where the compilers and their results are.
type toolchain struct {
	bin, corpus, nvidia, triton string
	cache                       string // results by content: nothing gets stale
	model                       string // hash of this program
}

// outcome is the timing of a compiler's code, or why there is none.
type outcome struct {
	*timing
	peer string
	err  error
}

func (o *outcome) rated() bool { return o.err == nil && o.timing != nil }

var errorLine = regexp.MustCompile(`\berror: *(.*)`)

// call runs a program and returns its output; an error is one line.
func call(program string, args ...string) (string, error) {
	out, err := exec.Command(program, args...).CombinedOutput()
	if err != nil {
		text := string(out)
		if m := errorLine.FindStringSubmatch(text); m != nil {
			text = m[1]
		}
		text = strings.Join(strings.Fields(text), " ")
		return "", fmt.Errorf("%s: %.160s", filepath.Base(program), text)
	}
	return string(out), nil
}

func digest(parts ...any) string {
	h := sha256.New()
	for _, p := range parts {
		fmt.Fprintf(h, "%v\x00", p)
	}
	return hex.EncodeToString(h.Sum(nil))[:24]
}

// cached returns a timing from the cache, or computes and stores it. Errors are not stored.
func (w *toolchain) cached(key string, make func() (*timing, error)) (*timing, error) {
	file := filepath.Join(w.cache, "time-"+key+".json")
	if data, err := os.ReadFile(file); err == nil {
		t := &timing{}
		return t, json.Unmarshal(data, t)
	}
	t, err := make()
	if err != nil {
		return nil, err
	}
	data, err := json.Marshal(t)
	if err != nil {
		return nil, err
	}
	return t, os.WriteFile(file, data, 0o644)
}

// timeCubin is modelCubin through the cache.
func (w *toolchain) timeCubin(cubin string, sm int, b *bench, like string, dynamic int) (*timing, error) {
	data, err := os.ReadFile(cubin)
	if err != nil {
		return nil, err
	}
	return w.cached(digest(string(data), sm, b.Name, like, dynamic, w.model), func() (*timing, error) { return modelCubin(w.nvidia, cubin, sm, b, like, dynamic) })
}

func (w *toolchain) bytecode(b *bench) string {
	return filepath.Join(w.corpus, b.Name, "kernel.tileirbc")
}

var (
	targetLine  = regexp.MustCompile(`(?m)^\s*\.target\s+(\w+)`)
	spillWords  = regexp.MustCompile(`(\d+) bytes spill (?:stores|loads)`)
	serialWords = regexp.MustCompile(`C75\d\d`)
)

// oursPTX is the file of what ours has compiled last.
const oursPTX = "ours.ptx"

// ours compiles by tileiras, with flags, and ptxas.
func (w *toolchain) ours(b *bench, sm int, tmp string, flags ...string) outcome {
	ptx, cubin := filepath.Join(tmp, oursPTX), filepath.Join(tmp, "ours.cubin")
	args := append(flags, "--gpu-name", fmt.Sprintf("sm_%d", sm), "--abi=tile", "--emit=ptx", "-o", ptx, w.bytecode(b))
	if _, err := call(filepath.Join(w.bin, "tileiras"), args...); err != nil {
		return outcome{err: err}
	}
	text, err := os.ReadFile(ptx)
	if err != nil {
		return outcome{err: err}
	}
	m := targetLine.FindSubmatch(text)
	if m == nil {
		return outcome{err: errors.New("PTX without .target")}
	}
	log, err := call(filepath.Join(w.nvidia, "ptxas"), "-v", "-arch="+string(m[1]), "--enable-extended-smem=true", ptx, "-o", cubin)
	if err != nil {
		return outcome{err: err}
	}
	t, err := w.timeCubin(cubin, sm, b, b.Name, 0)
	if err != nil {
		return outcome{err: err}
	}
	for _, s := range spillWords.FindAllStringSubmatch(log, -1) {
		n, _ := strconv.Atoi(s[1])
		t.SpillBytes += n
	}
	seen := map[string]bool{}
	for _, s := range serialWords.FindAllString(log, -1) {
		seen[s] = true
	}
	t.Serialization = len(seen)
	return outcome{timing: t, peer: "ours"}
}

// theirs compiles by NVIDIA's tileiras, once for a bytecode, target and hint.
func (w *toolchain) theirs(b *bench, sm int, hint bool, tmp string) outcome {
	source, name := w.bytecode(b), "nvidia"
	data, err := os.ReadFile(source)
	if err != nil {
		return outcome{err: err}
	}
	if hint {
		name = "hinted"
	}
	cubin := filepath.Join(w.cache, "nvidia-"+digest(string(data), sm, hint, ptxas.MoreWarps)+".cubin")
	if _, err := os.Stat(cubin); err != nil {
		if hint {
			if source, err = w.hinted(source, b.Version, sm, tmp); err != nil {
				return outcome{err: err}
			}
		}
		part := filepath.Join(tmp, "nvidia.cubin")
		if _, err := call(filepath.Join(w.nvidia, "tileiras"), "--gpu-name", fmt.Sprintf("sm_%d", sm), source, "-o", part); err != nil {
			return outcome{err: err}
		}
		data, err := os.ReadFile(part)
		if err == nil {
			err = os.WriteFile(cubin, data, 0o644)
		}
		if err != nil {
			return outcome{err: err}
		}
	}
	t, err := w.timeCubin(cubin, sm, b, b.Name, 0)
	return outcome{t, name, err}
}

// hinted writes a bytecode whose entries have the hint of more worker warps.
func (w *toolchain) hinted(bytecode, version string, sm int, tmp string) (string, error) {
	text, out := filepath.Join(tmp, "hint.tileir"), filepath.Join(tmp, "hint.tileirbc")
	tool := filepath.Join(w.bin, "tile-translate")
	if _, err := call(tool, "--cudatilebc-to-mlir", bytecode, "-o", text); err != nil {
		return "", err
	}
	data, err := os.ReadFile(text)
	if err != nil {
		return "", err
	}
	if err := os.WriteFile(text, []byte(ptxas.WithMoreWarps(string(data), sm)), 0o644); err != nil {
		return "", err
	}
	_, err = call(tool, "--mlir-to-cudatilebc", "--bytecode-version="+version, text, "-o", out)
	return out, err
}

// peer is a kernel of Triton, as scripts/triton-kernels.py names it. like is its name as the corpus would write it, with the tile (ringOf).
type peer struct{ kernel, like string }

var (
	narrow = []peer{
		{"matmul_bf16_128x128", "gemm_bf16_128x128x64"}, {"matmul_f16_128x128", "gemm_f16_128x128x64"}, {"maps_bf16_128x128", "gemm_bf16_128x128x64"},
		{"maps_roles_bf16_128x128", "gemm_bf16_128x128x64"}, {"persistent_bf16_128x128", "gemm_bf16_128x128x64"},
	}
	wide      = []peer{{"matmul_bf16_128x256", "gemm_bf16_128x256x64"}, {"maps_bf16_128x256", "gemm_bf16_128x256x64"}, narrow[0], narrow[2]}
	attention = []peer{{"attention_d128", "attention_f16_d128_128x64"}, {"attention_d128_roles", "attention_f16_d128_128x64"}}
	causal    = append([]peer{{"attention_d128_causal", "attention_f16_d128_causal_128x64"}}, attention...)
)

// counterparts are kernels of Triton that do the same work as those of the corpus; tile sizes may differ. The first pattern that fits counts.
var counterparts = []struct {
	kernels *regexp.Regexp
	peers   []peer
}{
	{regexp.MustCompile(`^(gemm_scaled|gather|rope|rmsnorm|reduce|row_max|transpose_f32|vecadd_bf16)`), nil},
	{regexp.MustCompile(`^gemm_f32.*tf32`), []peer{{"matmul_f32_128x128", "gemm_f32_128x128x32"}}}, // cuts off the bits that tf32 does not have
	{regexp.MustCompile(`^gemm_f8e4m3`), []peer{{"maps_e4m3_128x128", "gemm_e4m3_128x128x128"}}},
	{regexp.MustCompile(`^(group_)?gemm.*256x64`), wide},
	{regexp.MustCompile(`^(group_)?gemm`), narrow},
	{regexp.MustCompile(`^attention_f16_d64`), []peer{{"attention_d64", "attention_f16_d64_128x64"}}},
	{regexp.MustCompile(`^attention_f16_d128_causal`), causal},
	{regexp.MustCompile(`^attention_f16_d128`), attention},
	{regexp.MustCompile(`^softmax_f32`), []peer{{kernel: "softmax_f32"}}}, {regexp.MustCompile(`^layernorm_bf16`), []peer{{kernel: "layernorm_bf16"}}},
	{regexp.MustCompile(`^vecadd_f32`), []peer{{kernel: "add_f32"}}}, {regexp.MustCompile(`^transpose_f16`), []peer{{kernel: "transpose_f16"}}},
}

// assembled is the cubin in a folder of Triton's, or what ptxas makes of the PTX there.
func (w *toolchain) assembled(folder string, sm int) (string, error) {
	cubin, ptx := filepath.Join(folder, "kernel.cubin"), filepath.Join(folder, "kernel.ptx")
	if _, err := os.Stat(cubin); err == nil {
		return cubin, nil
	}
	text, err := os.ReadFile(ptx)
	if err != nil {
		return "", err
	}
	m := targetLine.FindSubmatch(text)
	if m == nil {
		return "", errors.New("PTX without .target")
	}
	cubin = filepath.Join(w.cache, "triton-"+digest(string(text), sm)+".cubin")
	if _, err := os.Stat(cubin); err != nil {
		_, err = call(filepath.Join(w.nvidia, "ptxas"), "-arch="+string(m[1]), ptx, "-o", cubin)
		return cubin, err
	}
	return cubin, nil
}

// tritons is the fastest of Triton's kernels of the same work; neither timing nor error where there is none.
func (w *toolchain) tritons(b *bench, sm int) outcome {
	for _, c := range counterparts {
		if c.kernels.MatchString(b.Name) {
			return w.fastest(c.peers, b, sm)
		}
	}
	return outcome{}
}

// rounding are kernels of Triton that round the operands of products in tf32 to nearest even, as the bytecode asks, by integer arithmetic. From sm_90 on an
// instruction does that.
var rounding = []peer{{"matmul_f32_rounded_128x128", "gemm_f32_128x128x32"}, {"matmul_f32_rounded_128x256", "gemm_f32_128x256x32"}}

// sameRounding is the fastest of Triton's kernels that round as the bytecode says, where tritons gives one that does not.
func (w *toolchain) sameRounding(b *bench, sm int) outcome {
	if family(b.Name) != truncatable || sm >= 90 {
		return outcome{}
	}
	return w.fastest(rounding, b, sm)
}

// fastest is the fastest of those of Triton's kernels that exist in the folder.
func (w *toolchain) fastest(peers []peer, b *bench, sm int) (best outcome) {
	for _, p := range peers {
		name := p.kernel
		folder := filepath.Join(w.triton, fmt.Sprintf("%s.sm%d", name, sm))
		data, err := os.ReadFile(filepath.Join(folder, "launch.json"))
		if err != nil {
			continue
		}
		var launch struct{ Shared int }
		if err := json.Unmarshal(data, &launch); err != nil {
			return outcome{err: err}
		}
		cubin, err := w.assembled(folder, sm)
		if err != nil {
			return outcome{err: fmt.Errorf("%s: %w", name, err)}
		}
		t, err := w.timeCubin(cubin, sm, b, p.like, launch.Shared)
		switch {
		case err != nil && best.timing == nil:
			best = outcome{err: fmt.Errorf("%s: %w", name, err)}
		case err == nil && (best.timing == nil || t.Rate > best.Rate):
			best = outcome{timing: t, peer: name}
		}
	}
	return best
}
