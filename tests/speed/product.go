package main

import (
	"regexp"
	"strconv"
	"strings"
)

// product is what a matrix instruction is for one warp. A wgmma is shared by its four warps in equal parts; a tcgen05 product belongs to the one
// warp that issues it, and if two blocks compute it together, half of it.
type product struct {
	known   bool
	flops   float64
	tensor  float64 // cycles of the tensor cores of a multiprocessor
	operand float64 // bytes that it reads in shared memory
}

// warpShapes are the m, n and k that the digits of mma.sync mean in machine code.
var warpShapes = map[string][3]int{
	"1688": {16, 8, 8}, "16816": {16, 8, 16}, "16832": {16, 8, 32}, "16864": {16, 8, 64}, "884": {8, 8, 4}, "8816": {8, 8, 16}, "8832": {8, 8, 32},
	"1684": {16, 8, 4}, "1688X": {16, 8, 8}, "168128": {16, 8, 128}, "168256": {16, 8, 256},
}

var (
	shapeDigits  = regexp.MustCompile(`^(?:\.SF)?\.(\w+)`) // .SF: with scales, which takes no longer
	shapeGroup   = regexp.MustCompile(`(\d+)x(\d+)x(\d+)`)
	descriptor   = regexp.MustCompile(`idesc\[(UR\d+)\]`)
	described    = regexp.MustCompile(`^(UR\d+), (?:UR\d+, )?0x([0-9a-f]+)(?:, URZ, 0xfc, !UPT)?$`)
	fromRegister = regexp.MustCompile(`^R\d+, R\d+, gdesc`)
)

// productOf reads the shape of matrix instruction n and computes its cost.
func (c *chip) productOf(code []instruction, n int) product {
	i := &code[n]
	group, unit := strings.HasSuffix(i.op, "GMMA"), strings.HasPrefix(i.op, "UTC")
	shape, rate, share := [3]int{}, c.mma, 1.0
	switch {
	case group:
		m := shapeGroup.FindStringSubmatch(i.mods)
		if m == nil {
			return product{}
		}
		for d := range shape {
			shape[d], _ = strconv.Atoi(m[1+d])
		}
		rate, share = c.wgmma, 4
	case unit:
		shape, rate = describedShape(code, n), c.tcgen05
		if strings.Contains(i.mods, ".2CTA") {
			share = 2
		}
	default:
		if m := shapeDigits.FindStringSubmatch(i.mods); m != nil {
			shape = warpShapes[m[1]]
		}
	}
	if shape[0] == 0 {
		return product{}
	}
	if rate == 0 {
		rate = c.mma
	}
	m, columns, k := float64(shape[0]), float64(shape[1]), float64(shape[2])
	bytesK := 32.0
	if !group && !unit {
		bytesK = k * elementBytes(i)
	}
	p := product{known: true, flops: 2 * m * columns * k}
	rows := m
	if unit {
		rows = max(m, 128) // fewer rows take as long
	}
	p.tensor = 2 * rows * columns * (bytesK / 2) / rate
	switch {
	case i.op[0] == 'D':
		p.tensor = p.flops / c.dmma
	case i.op == "QMMA" && !strings.HasPrefix(i.mods, ".SF") && strings.Contains(i.mods, ".F32"):
		p.tensor /= c.unscaledFP8
	}
	if strings.Contains(i.args, "gdesc") {
		p.operand = columns * bytesK
		if bothInShared(i, group) {
			p.operand += m * bytesK
		}
	}
	return product{true, p.flops / share, p.tensor / share, p.operand / share}
}

// elementBytes is the size of an operand's element of mma.sync.
func elementBytes(i *instruction) float64 {
	if strings.Contains(i.mods, "TF32") {
		return 4
	}
	switch i.op[0] {
	case 'H':
		return 2
	case 'D':
		return 8
	case 'O':
		return 0.5
	case 'B':
		return 0.125
	}
	return 1
}

// bothInShared reports whether A comes from shared memory, too.
func bothInShared(i *instruction, group bool) bool {
	if strings.Count(i.args, "gdesc") == 2 {
		return true
	}
	return group && strings.Count(i.args, ",") <= 3+strings.Count(i.args, "gsb") && !fromRegister.MatchString(i.args)
}

// describedShape reads the shape of a tcgen05 product from its instruction descriptor (PTX ISA, "Instruction descriptor"), the last constant that was put
// into the uniform register, or to whose bits others were added there: those say which scales it takes.
func describedShape(code []instruction, n int) (shape [3]int) {
	m := descriptor.FindStringSubmatch(code[n].args)
	if m == nil {
		return shape
	}
	for j := n - 1; j > max(n-400, -1); j-- {
		put := described.FindStringSubmatch(code[j].args)
		if code[j].op != "UMOV" && code[j].op != "ULOP3" || put == nil || put[1] != m[1] {
			continue
		}
		d, err := strconv.ParseUint(put[2], 16, 64)
		if err != nil {
			continue
		}
		k := map[byte]int{'H': 16, 'I': 32, 'Q': 32, 'O': 64}[code[n].op[3]]
		if code[n].op[3] == 'H' && d>>7&7 == 2 { // tf32
			k = 8
		}
		return [3]int{int(d>>24&31) * 16, int(d>>17&63) * 8, k}
	}
	return shape
}

// cost is a lower bound of what code costs one warp, and the work in it.
type cost struct {
	flops      float64 // of matrix instructions
	unknown    bool    // a matrix instruction whose shape is not in the code
	bottleneck float64 // cycles of a multiprocessor, of the resource that is used most
	issued     float64 // the same of the schedulers and of the units behind them
	tensor     float64
	global     float64 // bytes from and to global memory
}

// costOf adds up the costs of instructions.
func (c *chip) costOf(code []instruction, numbers []int) cost {
	var p cost
	var fma, alu, special, memory, shared float64
	for _, n := range numbers {
		i := &code[n]
		bytes := 32 * float64(i.width())
		switch i.class {
		case classMMA:
			m := c.productOf(code, n)
			p.flops, p.tensor, shared = p.flops+m.flops, p.tensor+m.tensor, shared+m.operand/128
			p.unknown = p.unknown || !m.known
		case classMatrix, classShared, classLoad, classStore, classCopy, classSpill:
			memory += max(1, bytes/128)
			if i.class == classMatrix || i.class == classShared || i.class == classCopy {
				shared += bytes / 128
			}
			if i.class == classLoad || i.class == classStore || i.class == classCopy {
				p.global += bytes
			}
		case classShuffle:
			memory++
		default:
			pipe, busy := c.pipeOf(i)
			switch pipe {
			case pipeFMA:
				fma += busy / 4
			case pipeALU:
				alu += busy / 4
			case pipeSpecial:
				special += busy / 4
			}
		}
	}
	p.issued = max(float64(len(numbers))/4, fma, alu, special)
	p.bottleneck = max(p.issued, memory, shared, p.global/64, p.tensor)
	return p
}

// pipe is an execution unit of a scheduler.
type pipe int8

const (
	pipeNone pipe = iota
	pipeTensor
	pipeFMA
	pipeALU
	pipeSpecial
	pipeUniform
	pipeTensorMemory
	numPipes
)

// pipeOf is the pipe that an arithmetic instruction occupies, and for how many cycles of its scheduler.
func (c *chip) pipeOf(i *instruction) (pipe, float64) {
	switch i.class {
	case classFloat:
		if strings.HasSuffix(i.op, "2") {
			return pipeFMA, 256 / c.fp32
		}
		return pipeFMA, 128 / c.fp32
	case classHalf:
		return pipeFMA, 128 / c.half2
	case classDouble:
		return pipeFMA, 128 / c.fp64
	case classProduct:
		if i.op != "UIMAD" {
			return pipeFMA, 2
		}
	case classSpecial:
		return pipeSpecial, 8
	case classConvert:
		if i.op == "F2F" || i.op == "F2I" || i.op == "I2F" || i.op == "FRND" {
			return pipeSpecial, 8
		}
		return pipeALU, 128 / c.alu
	case classInt:
		return pipeALU, 128 / c.alu
	case classUniform:
		return pipeUniform, 2
	}
	return pipeNone, 0
}
