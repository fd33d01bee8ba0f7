package main

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// class is what kind of work an instruction does, by the unit that it occupies.
type class string

const (
	classMMA     class = "MMA"
	classMatrix  class = "matrix moves" // ldmatrix, stmatrix, tensor memory
	classShared  class = "shared"
	classLoad    class = "load"
	classStore   class = "store"
	classCopy    class = "async copy"
	classTMA     class = "TMA"
	classSpill   class = "spill"
	classFloat   class = "fp32"
	classHalf    class = "fp16"
	classDouble  class = "fp64"
	classSpecial class = "mufu"
	classConvert class = "convert"
	classProduct class = "imad"
	classConst   class = "const"
	classShuffle class = "shuffle"
	classSync    class = "sync"
	classBranch  class = "branch"
	classUniform class = "uniform"
	classNothing class = "none"
	classInt     class = "int" // all else
)

// classes are tried in order on the name of the operation.
var classes = []struct {
	class class
	ops   *regexp.Regexp
}{
	{classMMA, whole(`[HIBDQO]MMA|[HIBQ]GMMA|UTC[HIQO]MMA`)},
	{classMatrix, whole(`LDSM|STSM|MOVM|LDTM|STTM`)},
	{classShared, whole(`LDS|STS|ATOMS|UBLKCP`)},
	{classLoad, whole(`LDG|LD|LDGMC`)},
	{classStore, whole(`STG|ST|REDG?|ATOMG?|UTMAREDG`)},
	{classCopy, whole(`LDGSTS`)},
	{classTMA, whole(`UTMALDG|UTMASTG|UTMA\w+`)},
	{classSpill, whole(`LDL|STL`)},
	{classFloat, whole(`F(ADD|MUL|FMA)(2|32I)?|FSWZADD|UF(ADD|MUL|FMA)`)},
	{classHalf, whole(`H(ADD|MUL|FMA|MNMX|SETP|SET)2|HADD2_32|H\w+2_32I`)},
	{classDouble, whole(`DADD|DMUL|DFMA|DSETP|DMNMX`)},
	{classSpecial, whole(`MUFU`)},
	{classConvert, whole(`F2FP?|F2IP?|I2FP?|I2IP|FRND|UF2I|UI2F\w*`)},
	{classProduct, whole(`IMAD|IMUL|IDP|UIMAD`)},
	{classConst, whole(`LDC|ULDC|LDCU`)},
	{classShuffle, whole(`SHFL|C?REDUX|VOTEU?|MATCH`)},
	{classSync, whole(`BAR|SYNCS|DEPBAR|LDGDEPBAR|MEMBAR|FENCE|ARRIVES|WARPGROUP(SET)?|UTCBAR|UCGABAR\w*|WARPSYNC|NANOSLEEP|ERRBAR|CCTL\w*|` +
		`UTMACMDFLUSH|UTCATOMSWS|ELECT|ACQBULK`)},
	{classBranch, whole(`BRA|EXIT|CALL|RET|BRX|JMP|JMX|BSSY|BSYNC|BREAK|YIELD|BPT|BMOV|KILL`)},
	{classUniform, whole(`U[A-Z]\w*|R2UR|S2UR|S2R|CS2R|B2R`)},
	{classNothing, whole(`NOP`)},
}

func whole(pattern string) *regexp.Regexp { return regexp.MustCompile(`^(?:` + pattern + `)$`) }

func classify(op string) class {
	for _, c := range classes {
		if c.ops.MatchString(op) {
			return c.class
		}
	}
	return classInt
}

// instruction is a line of nvdisasm with its control code.
type instruction struct {
	addr           int
	guarded        bool
	op, mods, args string
	targets        []int // numbers of the instructions that it may jump to
	class          class
	control        control
}

// control are the bits 105 to 125 of an instruction: how long the warp waits after it, which scoreboard it sets when it has written its result
// or read its operands (7: none), and which ones it waits for.
type control struct{ stall, writes, reads, waits int }

// kernel is machine code with its resources.
type kernel struct {
	name             string
	registers, stack int
	shared, threads  int
	code             []instruction
}

var (
	lineOf   = regexp.MustCompile(`^\s+/\*([0-9a-f]{4,})\*/\s+(?:\{\s*)?(@!?U?P\w+\s+)?([A-Z]\w*)([.\w]*)\s*(.*?)\s*;?\s*(?:\})?\s*/\* 0x([0-9a-f]{16}) \*/$`)
	wordOf   = regexp.MustCompile(`^\s+/\* 0x([0-9a-f]{16}) \*/`)
	labelOf  = regexp.MustCompile(`^(\.L_x_\d+|\$\S+):`)
	targetOf = regexp.MustCompile(`(?:` + "`" + `\()?(\.L_x_\d+)\)?`)
	usageOf  = regexp.MustCompile(`Function (\S+?):\s*\n\s*(REG:.*)`)
	sizeOf   = regexp.MustCompile(`(REG|STACK|SHARED):(\d+)`)
)

// systemShared is the shared memory that the system takes of every thread block. From sm_90 on ptxas counts it among that of a kernel which uses any: one
// that adds the 227 KB a block may ask for has 228, all that a multiprocessor has.
const systemShared = 1024

// ownShared is the shared memory of a kernel for a target, of which a cubin counts so much.
func ownShared(sm, counted int) int {
	if sm >= 90 {
		return max(0, counted-systemShared)
	}
	return counted
}

// load reads the kernel of a cubin with one kernel for a target. dynamic is bytes of shared memory that the launch adds.
func load(tools, cubin string, sm, dynamic int) (*kernel, error) {
	usage, err := exec.Command(filepath.Join(tools, "cuobjdump"), "-res-usage", cubin).Output()
	if err != nil {
		return nil, fmt.Errorf("cuobjdump: %w", err)
	}
	text, err := exec.Command(filepath.Join(tools, "nvdisasm"), "-c", "-hex", cubin).Output()
	if err != nil {
		return nil, fmt.Errorf("nvdisasm: %w", err)
	}
	for _, m := range usageOf.FindAllStringSubmatch(string(usage), -1) {
		k := &kernel{name: m[1], shared: dynamic}
		for _, s := range sizeOf.FindAllStringSubmatch(m[2], -1) {
			n, _ := strconv.Atoi(s[2])
			switch s[1] {
			case "REG":
				k.registers = n
			case "STACK":
				k.stack = n
			case "SHARED":
				k.shared += ownShared(sm, n)
			}
		}
		_, body, ok := strings.Cut(string(text), "\n.text."+k.name+":\n")
		if !ok {
			continue // a function that a kernel calls
		}
		body, _, _ = strings.Cut(body, "\n//-----")
		k.code = parse(body)
		k.threads, err = threads(cubin, k.name)
		return k, err
	}
	return nil, fmt.Errorf("%s has no kernel", cubin)
}

// threads is the size of a block by the attributes of a kernel: 0x10 is EIATTR_REQNTID, 0x05 EIATTR_MAX_THREADS. Without either
// it is 128.
func threads(cubin, name string) (int, error) {
	data, err := os.ReadFile(cubin)
	if err != nil {
		return 0, err
	}
	info := section(data, ".nv.info."+name)
	n := 0
	for len(info) >= 4 {
		form, attribute, size := info[0], info[1], int(binary.LittleEndian.Uint16(info[2:]))
		info = info[4:]
		if form != 4 { // the value is in the header
			continue
		}
		if (attribute == 0x05 || attribute == 0x10) && len(info) >= 12 {
			n = 1
			for i := range 3 {
				n *= int(binary.LittleEndian.Uint32(info[4*i:]))
			}
		}
		info = info[min(size, len(info)):]
	}
	if n == 0 {
		n = 128
	}
	return n, nil
}

// section is the content of a section of a 64-bit ELF file, nil if there is none. debug/elf refuses cubins for sm_80, whose version is no
// standard's.
func section(data []byte, name string) []byte {
	const header = 64
	if len(data) < header {
		return nil
	}
	order := binary.LittleEndian
	table, size, count := order.Uint64(data[40:]), uint64(order.Uint16(data[58:])), uint64(order.Uint16(data[60:]))
	at := func(n uint64) []byte { return data[min(table+n*size, uint64(len(data))):] }
	part := func(h []byte) []byte {
		from, n := order.Uint64(h[24:]), order.Uint64(h[32:])
		if from+n > uint64(len(data)) {
			return nil
		}
		return data[from : from+n]
	}
	if size < 40 || uint64(len(at(0))) < count*size {
		return nil
	}
	names := part(at(uint64(order.Uint16(data[62:]))))
	for n := range count {
		h := at(n)
		from := int(order.Uint32(h))
		if from < len(names) && bytes.HasPrefix(names[from:], []byte(name+"\x00")) && order.Uint32(h[4:]) != 8 { // SHT_NOBITS
			return part(h)
		}
	}
	return nil
}

// parse reads a disassembly with the words of each instruction.
func parse(body string) []instruction {
	labels := map[string]int{}
	var code []instruction
	var here []string // labels before the next instruction
	var jumps [][]string
	wants := false // the second word
	for line := range bytes.Lines([]byte(body)) {
		line = bytes.TrimRight(line, "\n")
		if m := labelOf.FindSubmatch(line); m != nil {
			here = append(here, string(m[1]))
			continue
		}
		if m := wordOf.FindSubmatch(line); m != nil && wants {
			high, _ := strconv.ParseUint(string(m[1]), 16, 64)
			bit := func(at, mask uint64) int { return int(high >> at & mask) }
			code[len(code)-1].control = control{bit(41, 15), bit(46, 7), bit(49, 7), bit(52, 63)}
			wants = false
			continue
		}
		m := lineOf.FindSubmatch(line)
		if m == nil {
			continue
		}
		for _, l := range here {
			labels[l] = len(code)
		}
		here = nil
		addr, _ := strconv.ParseInt(string(m[1]), 16, 64)
		i := instruction{addr: int(addr), guarded: len(m[2]) > 0, op: string(m[3]), mods: string(m[4]), args: string(m[5]), control: control{1, 7, 7, 0}}
		i.class = classify(i.op)
		var to []string
		if i.op == "BRA" || i.op == "BRX" || i.op == "CALL" || i.op == "JMP" {
			for _, t := range targetOf.FindAllStringSubmatch(i.args, -1) {
				to = append(to, t[1])
			}
		}
		code, jumps, wants = append(code, i), append(jumps, to), true
	}
	for n, to := range jumps {
		for _, l := range to {
			if at, ok := labels[l]; ok {
				code[n].targets = append(code[n].targets, at)
			}
		}
	}
	return code
}

var (
	scaled  = regexp.MustCompile(`\.(?:16|8|4)(\.M)`)
	decimal = regexp.MustCompile(`\.(\d+)(?:\.|$)`)
)

// widths are the bytes of an access by its modifier; the first that is there counts.
var widths = []struct {
	modifier string
	bytes    int
}{{".U8", 1}, {".S8", 1}, {".U16", 2}, {".S16", 2}, {".64", 8}, {".128", 16}, {".256", 32}}

// width is the bytes that a thread moves.
func (i *instruction) width() int {
	if i.op == "LDSM" || i.op == "STSM" {
		if m := decimal.FindStringSubmatch(scaled.ReplaceAllString(i.mods, "$1")); m != nil {
			n, _ := strconv.Atoi(m[1])
			return 4 * n
		}
		return 4
	}
	for _, w := range widths {
		if strings.Contains(i.mods, w.modifier) {
			return w.bytes
		}
	}
	return 4
}

// sharedCycles is how long an access of a warp keeps shared memory busy, in cycles.
func (i *instruction) sharedCycles() float64 { return max(1, 32*float64(i.width())/128) }
