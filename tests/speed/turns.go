package main

import (
	"strconv"
	"strings"
)

// This file finds out for which products of tcgen05 a loop waits. Products arrive at a ring of mbarriers: a counter of products gives the mbarrier at which
// one arrives, and a wait computes from the counter which one it is for.

// productWaits is the arrivals of products in a loop, and for which of them each wait is.
type productWaits struct {
	offsets   map[string]bool // of mbarriers at which products arrive: what is added last to their addresses
	commitsAt map[int]bool    // the instructions that have a product arrive where waits look
	waits     map[int]int     // for which arrival each wait is: numbers from the first of the iteration on, or before it
	commits   int             // arrivals in an iteration
	complete  bool            // every wait for products is known
}

// productCounter is a symbolic value: a count of products, as some register held it at the beginning, and what has been added to
// it.
type productCounter struct {
	count string
	added int
}

// productWaitsOf evaluates two iterations symbolically: what the first leaves in registers the second finds there.
func productWaitsOf(code []instruction, numbers []int) productWaits {
	t := productWaits{map[string]bool{}, map[int]bool{}, map[int]int{}, 0, false}
	values, last := map[string]productCounter{}, map[string]string{}
	value := func(register string) productCounter {
		if v, ok := values[register]; ok {
			return v
		}
		return productCounter{register, 0}
	}
	committed, waited := map[int]productCounter{}, map[int]productCounter{}
	for range 2 {
		for _, n := range numbers {
			i := &code[n]
			words := strings.FieldsFunc(i.args, func(r rune) bool { return strings.ContainsRune(" ,[]+", r) })
			switch {
			case i.op == "UTCBAR" && len(words) > 0:
				committed[n] = value(words[0])
				t.offsets[last[words[0]]] = true
			case i.op == "SYNCS" && strings.Contains(i.mods, "TRYWAIT") && len(words) > 1:
				waited[n] = value(words[1])
			case len(words) > 1:
				values[words[0]] = evaluate(i, words, value)
				last[words[0]] = hexNumber.FindString(i.args)
			}
		}
	}
	delete(t.offsets, "")
	first := productCounter{}
	for _, n := range numbers {
		if v, ok := committed[n]; ok && strings.Contains(v.count, maskedCounter) { // not what frees a slot
			if t.commits == 0 {
				first = v
			}
			t.commitsAt[n] = v.count == first.count
			t.commits++
		}
		if v, ok := waited[n]; ok && t.offsets[hexNumber.FindString(code[n].args)] {
			t.waits[n] = v.added
		}
	}
	begun := 0
	t.complete = t.commits > 0
	for _, n := range numbers {
		if t.commitsAt[n] {
			begun++
		}
		if _, ok := t.waits[n]; ok {
			t.waits[n] -= first.added
			t.complete = t.complete && waited[n].count == first.count && t.waits[n] < begun
		}
	}
	if !t.complete {
		t.waits, t.commitsAt = nil, nil
	}
	return t
}

// maskedCounter marks a count that a mask has turned into the index of an mbarrier.
const maskedCounter = " by turns"

// evaluate is the symbolic result of an instruction.
func evaluate(i *instruction, words []string, value func(string) productCounter) productCounter {
	number := func(word string) (int, bool) {
		n, err := strconv.ParseInt(word, 0, 64)
		return int(n), err == nil
	}
	args := words[1:]
	for len(args) > 0 && strings.Contains(args[0], "PT") {
		args = args[1:]
	}
	unknown := productCounter{words[0] + " of " + i.args, 0}
	if len(args) == 0 {
		return unknown
	}
	switch i.op {
	case "UMOV", "MOV", "R2UR":
		if _, constant := number(args[0]); !constant {
			return value(args[0])
		}
	case "IMAD": // which copies what it adds to nothing
		if len(args) > 2 && args[0] == "RZ" && args[1] == "RZ" {
			return value(args[2])
		}
	case "UIADD3", "IADD3", "VIADD":
		if len(args) < 2 {
			return unknown
		}
		if n, ok := number(args[1]); ok {
			v := value(args[0])
			if strings.Contains(v.count, maskedCounter) {
				return v // the offset of all mbarriers
			}
			return productCounter{v.count, v.added + n}
		}
	case "ULOP3", "LOP3":
		if len(args) > 1 && (args[1] == "0x3" || args[1] == "0x7") { // four mbarriers, or eight
			v := value(args[0])
			return productCounter{v.count + maskedCounter, v.added}
		}
	case "ULEA", "LEA":
		return value(args[0])
	}
	return unknown
}
