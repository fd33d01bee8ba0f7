package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sync/errgroup"

	"tileiras"
	"tileiras/runtime/cases"
	"tileiras/runtime/emu"
	"tileiras/tests/hostmaps"
	"tileiras/tests/ptxas"
)

// code is a kernel as a compiler has made it, with what its launch takes. Files are relative to the folder of the pack.
type code struct {
	Kernel string // the folder of the benchmark
	Peer   string // "ours", "nvidia", "hinted": NVIDIA's with more warps, or "ours" with an option
	As     int    // the target that it was compiled for; the machine code is for the GPU
	Cubin  string
	PTX    string // for a driver that does not load the cubin
	Host   string // NVIDIA's cubin, whose host code makes tensor maps; "" where there are none
	Target string // of the PTX
	Entry  string

	Threads, Shared int
	Registers       int
	Spills          int // bytes
	Params          []hostmaps.Param

	seenPTX map[string]bool // the PTX of ours that the benchmark has for the target
}

// scratchBytes is the size of a parameter that no caller passes and that is no tensor map: the address of memory for the maps that a kernel makes.
const scratchBytes = 8

// errSameCode says that an option changes nothing.
var errSameCode = errors.New("the same code")

type packer struct {
	tools  *ptxas.Tools
	out    string
	arch   int // of the GPU
	corpus string
	hinted *regexp.Regexp
	roles  []string // options that ours are compiled with, too
	tma    bool     // ours are compiled with tensor maps, too
}

// peerWithMaps is the name of ours with tensor maps.
const peerWithMaps = "ours tma"

func pack(args []string) error {
	var p packer
	f := flag.NewFlagSet("pack", flag.ExitOnError)
	nvidia := f.String("nvidia", "", "folder of NVIDIA's tools")
	only := f.String("only", "", "regular expression: kernels to take")
	as := f.String("as", "90", "targets to compile for")
	hinted := f.String("hinted", "^(gemm|group_gemm|attention)", "regular expression: kernels to compile with more warps, too")
	jobs := f.Int("jobs", 2, "kernels at a time")
	roles := f.String("roles", "", "--roles to compile ours with, too: on,off")
	f.BoolVar(&p.tma, "tma", false, "compile ours with --tma, too")
	f.StringVar(&p.corpus, "corpus", "tests/corpus/perf", "folder of benchmarks")
	f.StringVar(&p.out, "out", "", "folder to write")
	f.IntVar(&p.arch, "arch", 90, "architecture of the GPU")
	f.Parse(args)
	if *nvidia == "" || p.out == "" {
		return fmt.Errorf("-nvidia and -out must be given")
	}
	pick, err := regexp.Compile(*only)
	if err != nil {
		return err
	}
	if p.hinted, err = regexp.Compile(*hinted); err != nil {
		return err
	}
	if *roles != "" {
		p.roles = strings.Split(*roles, ",")
	}
	names, err := cases.List(p.corpus)
	if err != nil {
		return err
	}
	codes, err := p.all(names, pick, strings.Split(*as, ","), *nvidia, *jobs)
	if err != nil {
		return err
	}
	data, err := json.MarshalIndent(slices.Concat(codes...), "", " ")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(p.out, "codes.json"), data, 0o644)
}

// all packs the kernels whose names match, so many at a time.
func (p *packer) all(names []string, pick *regexp.Regexp, targets []string, nvidia string, jobs int) ([][]code, error) {
	codes := make([][]code, len(names))
	var g errgroup.Group
	g.SetLimit(jobs)
	for i, name := range names {
		if !pick.MatchString(name) {
			continue
		}
		g.Go(func() (err error) {
			own := *p
			own.tools = &ptxas.Tools{Dir: nvidia}
			if own.tools.Scratch, err = os.MkdirTemp("", "pack-*"); err != nil {
				return err
			}
			defer os.RemoveAll(own.tools.Scratch)
			codes[i], err = own.kernel(name, targets)
			return err
		})
	}
	return codes, g.Wait()
}

// kernel packs all codes of a benchmark. What a compiler refuses is printed and left out.
func (p *packer) kernel(name string, targets []string) (codes []code, err error) {
	if err := os.MkdirAll(filepath.Join(p.out, name), 0o755); err != nil {
		return nil, err
	}
	if err := p.copyBench(name); err != nil {
		return nil, err
	}
	c, err := cases.Load(filepath.Join(p.out, name))
	if err != nil {
		return nil, err
	}
	for _, word := range targets {
		sm, err := strconv.Atoi(word)
		if err != nil {
			return nil, err
		}
		peers := []struct {
			name string
			make func(*cases.Case, *code) error
		}{{"ours", p.ours}, {"nvidia", p.nvidia}}
		if p.hinted.MatchString(name) {
			peers = append(peers, peers[1])
			peers[2].name = "hinted"
		}
		for _, roles := range p.roles {
			peers = append(peers, peers[0])
			peers[len(peers)-1].name = "ours roles=" + roles
		}
		if p.tma {
			peers = append(peers, peers[0])
			peers[len(peers)-1].name = peerWithMaps
		}
		seen := map[string]bool{}
		for _, peer := range peers {
			k := code{Kernel: name, Peer: peer.name, As: sm, Entry: c.Kernel, seenPTX: seen}
			if err := peer.make(c, &k); err != nil {
				if !errors.Is(err, errSameCode) {
					fmt.Printf("%s, %s for sm_%d: %v\n", name, peer.name, sm, err)
				}
				continue
			}
			codes = append(codes, k)
		}
	}
	return codes, nil
}

// extraFields are what tests/corpus/src/tilegym_kernels.py writes beside what a launch needs.
var extraFields = []string{"case", "hints", "sha256", "constants", "written"}

// copyBench copies a benchmark without those fields.
func (p *packer) copyBench(name string) error {
	from, to := filepath.Join(p.corpus, name), filepath.Join(p.out, name)
	data, err := os.ReadFile(filepath.Join(from, "bench.json"))
	if err != nil {
		return err
	}
	fields := map[string]json.RawMessage{}
	if err := json.Unmarshal(data, &fields); err != nil {
		return err
	}
	for _, n := range extraFields {
		delete(fields, n)
	}
	if data, err = json.Marshal(fields); err != nil {
		return err
	}
	bytecode, err := os.ReadFile(filepath.Join(from, "kernel.tileirbc"))
	if err != nil {
		return err
	}
	return errors.Join(os.WriteFile(filepath.Join(to, "bench.json"), data, 0o644), os.WriteFile(filepath.Join(to, "kernel.tileirbc"), bytecode, 0o644))
}

// ours compiles a kernel by the library.
func (p *packer) ours(c *cases.Case, k *code) error {
	_, roles, _ := strings.Cut(k.Peer, "roles=")
	res, err := tileiras.Compile(context.Background(), c.Bytecode, tileiras.Options{Name: c.Name, GPU: fmt.Sprintf("sm_%d", k.As), Roles: tileiras.Roles(roles), TMA: k.Peer == peerWithMaps})
	if err != nil {
		return err
	}
	if k.seenPTX[string(res.Output)] {
		return errSameCode
	}
	k.seenPTX[string(res.Output)] = true
	for _, own := range res.Kernels {
		if own.Function == c.Kernel || own.Name == c.Kernel {
			k.Entry, k.Threads, k.Shared = own.Name, own.Threads, own.SharedDynamic
		}
	}
	return p.assemble(k, string(res.Output))
}

// sharedArray is the shared memory of NVIDIA's kernels.
var (
	sharedArray = regexp.MustCompile(`(?m)^\.shared \.align (\d+) \.b8 (\w+)\[(\d+)\];\n`)
	bodyBegins  = regexp.MustCompile(`(?m)^\.visible \.entry`)
	version     = regexp.MustCompile(`(?m)^\.version .*`)
	language    = regexp.MustCompile(`(?m)^\.language 7\n`)
	launchData  = regexp.MustCompile(`(?m)^\.visible \.global \.align 8 \.b8 ___NV_TILE_LAUNCH_META_DATA___\[64\];\n`)
	perBlock    = regexp.MustCompile(`(?m)^\.minperctamemory \d+\n`) // without it a kernel takes the memory from its last parameter
	threads     = regexp.MustCompile(`\.reqntid (\d+)`)
)

// nvidia compiles a kernel by NVIDIA's tileiras and makes it a plain entry.
func (p *packer) nvidia(c *cases.Case, k *code) error {
	ctx := context.Background()
	bytecode := filepath.Join(p.corpus, c.Name, "kernel.tileirbc")
	if k.Peer == "hinted" {
		var err error
		if bytecode, err = p.withMoreWarps(ctx, c, k.As); err != nil {
			return err
		}
	}
	cubin, text, err := p.tools.NvidiaCubin(ctx, bytecode, fmt.Sprintf("sm_%d", k.As))
	if err != nil {
		return err
	}
	text, k.Shared = plainEntry(text)
	if k.Threads, err = strconv.Atoi(threads.FindStringSubmatch(text)[1]); err != nil {
		return err
	}
	if err := p.assemble(k, text, ptxas.KnobOption); err != nil {
		return err
	}
	own := k.Params[len(c.Params):]
	maps := slices.ContainsFunc(own, func(p hostmaps.Param) bool { return p.Size != scratchBytes })
	switch {
	case maps && slices.ContainsFunc(own, func(p hostmaps.Param) bool { return p.Size == scratchBytes }):
		return errors.New("its host code asks the driver for memory")
	case maps:
		k.Host = k.Cubin + ".host"
		return os.WriteFile(filepath.Join(p.out, k.Host), cubin, 0o644)
	}
	return nil
}

// plainEntry turns an entry in the launch convention of Tile IR into one that any driver can launch, and gives the dynamic shared
// memory in bytes that the launch must ask for.
func plainEntry(text string) (string, int) {
	shared := 0
	if m := sharedArray.FindStringSubmatch(text); m != nil {
		shared, _ = strconv.Atoi(m[3])
		text = strings.Replace(text, m[0], "", 1)
		at := bodyBegins.FindStringIndex(text)[0]
		text = text[:at] + fmt.Sprintf(".extern .shared .align 1024 .b8 %s[];\n", m[2]) + text[at:]
	}
	text = language.ReplaceAllString(launchData.ReplaceAllString(version.ReplaceAllString(text, ".version 9.0"), ""), "")
	text = perBlock.ReplaceAllString(strings.ReplaceAll(text, ".hidden\t.param", ".param"), "")
	text = strings.ReplaceAll(text, ", %perctamemoryoffset;", ", 0;")
	if !strings.Contains(text, "cluster.sync") && !strings.Contains(text, ".reqnctapercluster") {
		text = strings.ReplaceAll(strings.ReplaceAll(text, "%nclusterid.", "%nctaid."), "%clusterid.", "%ctaid.")
	}
	return text, shared
}

// withMoreWarps writes the bytecode with the hint.
func (p *packer) withMoreWarps(ctx context.Context, c *cases.Case, sm int) (string, error) {
	res, err := tileiras.Compile(ctx, c.Bytecode, tileiras.Options{Emit: tileiras.CudaTile})
	if err != nil {
		return "", err
	}
	res, err = tileiras.Compile(ctx, []byte(ptxas.WithMoreWarps(string(res.Output), sm)), tileiras.Options{Emit: tileiras.Bytecode, BytecodeVersion: c.Version})
	if err != nil {
		return "", err
	}
	file := filepath.Join(p.tools.Scratch, "hinted.tileirbc")
	return file, os.WriteFile(file, res.Output, 0o644)
}

// assemble writes the files of a code and reads what it takes.
func (p *packer) assemble(k *code, text string, options ...string) error {
	arch := fmt.Sprintf("sm_%d", p.arch)
	if k.Target = ptxas.Target(text); strings.HasPrefix(k.Target, arch) {
		arch = k.Target
	}
	r, err := p.tools.Assemble(context.Background(), "kernel", text, arch, options...)
	if err != nil {
		return err
	}
	for _, x := range r.Kernels {
		if x.Name == k.Entry {
			k.Registers, k.Spills = x.Registers, x.Spills()
		}
	}
	mod, err := emu.Parse(k.Kernel, text)
	if err != nil {
		return err
	}
	for _, q := range mod.Entry(k.Entry).Params {
		k.Params = append(k.Params, hostmaps.Param{Size: q.Size, Align: q.Align})
	}
	base := filepath.Join(k.Kernel, fmt.Sprintf("%s.%d", strings.NewReplacer(" ", "-", "=", "-").Replace(k.Peer), k.As))
	k.Cubin, k.PTX = base+".cubin", base+".ptx"
	if err := os.WriteFile(filepath.Join(p.out, k.PTX), []byte(text), 0o644); err != nil {
		return err
	}
	return os.Rename(r.Cubin, filepath.Join(p.out, k.Cubin))
}
