package emu

import "fmt"

// maxAddressChain bounds how many instructions an address is followed through.
const maxAddressChain = 16

// keepAddressChains finds, for every access of global memory, the instructions that its address is made by, if one of them widens a number
// of 32 bits without its sign. Intervals of what they read are extended over that of the address, so that a report can name the number: an
// index of -1 leads 4 GB too far, and only the number tells.
func keepAddressChains(p *program, first, last []int32) {
	defs := make([]int32, p.regs) // 1 + the place of the only definition; 0: none, -1: several
	for at := range p.code {
		for _, o := range p.code[at].dst {
			if o >= 0 {
				if defs[o]++; defs[o] == 1 {
					defs[o] = int32(at + 1)
				} else {
					defs[o] = -1
				}
			}
		}
	}
	for at := range p.code {
		in := &p.code[at]
		if in.address == 0 || in.src[in.address-1] < 0 {
			continue
		}
		address := in.src[in.address-1]
		chain := addressChain(p, defs, address)
		if chain == nil {
			continue
		}
		for _, k := range chain {
			for _, o := range p.code[k].src {
				if o >= 0 {
					first[o], last[o] = min(first[o], first[address]), max(last[o], last[address])
				}
			}
		}
		if p.addressChains == nil {
			p.addressChains = map[int32][]int32{}
		}
		p.addressChains[int32(at)] = chain
	}
}

// addressChain lists the places of the instructions that make an address, or nil when none of them widens without a sign. It follows
// registers that are written once, by an instruction without a guard.
func addressChain(p *program, defs []int32, address opnd) (chain []int32) {
	widens := false
	seen := map[opnd]bool{}
	for work := []opnd{address}; len(work) > 0 && len(chain) < maxAddressChain; {
		o := work[0]
		work = work[1:]
		if o < 0 || seen[o] || defs[o] <= 0 {
			continue
		}
		seen[o] = true
		in := &p.code[defs[o]-1]
		if in.kind != kVec || in.guard >= 0 {
			continue
		}
		chain = append(chain, defs[o]-1)
		widens = widens || in.widened > 0
		work = append(work, in.src[in.widened:]...) // what the number is made of does not matter
	}
	if !widens {
		return nil
	}
	return chain
}

// describeWidening says which numbers of 32 bits the address of the access being executed is made of that would be negative with a sign, or "".
// It computes the address again: registers may have changed since.
func (w *warp) describeWidening(addr uint64, lane int) (text string) {
	in := &w.prog.code[w.curPC]
	chain := w.prog.addressChains[w.curPC]
	if chain == nil || addr-w.src(in.src[in.address-1])[lane]-uint64(in.addressAdd) >= 16 {
		return ""
	}
	for _, k := range chain {
		def := &w.prog.code[k]
		args := [3]*vec{&zeros, &zeros, &zeros}
		for i, o := range def.src[:min(len(def.src), 3)] {
			args[i] = w.src(o)
		}
		var again vec
		def.vec(&again, args[0], args[1], args[2])
		if again[lane] != w.src(def.dst[0])[lane] {
			return ""
		}
		for _, o := range def.src[:def.widened] {
			if v := w.src(o)[lane]; o >= 0 && int32(v) < 0 {
				text += fmt.Sprintf("; line %d of the PTX makes the address from %d, which is negative, %d, if it has a sign", def.line, uint32(v), int32(v))
			}
		}
	}
	return text
}
