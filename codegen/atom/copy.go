package atom

import (
	"fmt"
	"slices"
	"sync"

	"tileiras/codegen/ptxop"
	"tileiras/codegen/target"
)

// CopyKind is a direction of copy atoms.
type CopyKind uint8

const (
	LoadGlobal  CopyKind = iota // global memory to registers
	StoreGlobal                 // registers to global memory
	LoadShared                  // shared memory to registers
	StoreShared                 // registers to shared memory
	LoadMatrix                  // 8x8 matrices of 16-bit cells in shared memory to mma fragments
	StoreMatrix                 // mma fragments to such matrices
	AsyncCopy                   // global memory to shared memory, not through registers
)

func (k CopyKind) String() string {
	return [...]string{"load global", "store global", "load shared", "store shared", "load matrix", "store matrix", "async copy"}[k]
}

// Copy is one instruction that moves Bytes consecutive bytes a lane (a row of 16 bytes for matrices, whose address is aligned to
// that; Matrices of them, each lane of the first 8*Matrices supplying a row).
type Copy struct {
	Name     string
	Op       *ptxop.Row
	Guarded  *ptxop.Row // the form under a predicate; nil for matrices, which a warp executes whole
	Kind     CopyKind
	Bytes    int
	Matrices int  // 1, 2 or 4 for matrices, else 0
	Trans    bool // the matrix is transposed on the way
	Need     target.Need

	find sync.Once // of Op, Guarded and Need
}

// copies are the rows of each kind, narrow to wide, made on demand.
var copies = [...]func() []*Copy{LoadGlobal: copiesOf(LoadGlobal), StoreGlobal: copiesOf(StoreGlobal), LoadShared: copiesOf(LoadShared),
	StoreShared: copiesOf(StoreShared), LoadMatrix: copiesOf(LoadMatrix), StoreMatrix: copiesOf(StoreMatrix), AsyncCopy: copiesOf(AsyncCopy)}

func copiesOf(kind CopyKind) func() []*Copy {
	return sync.OnceValue(func() []*Copy {
		switch kind {
		case LoadMatrix, StoreMatrix:
			return matrixCopies(kind)
		case AsyncCopy:
			return asyncCopies()
		}
		return vectorCopies(kind)
	})
}

// vectorWords is how the instruction sets name an access of so many bytes by 32-bit words; 32 bytes are for global memory alone
// (PTX ISA, "ld", vectors of 256 bits).
var vectorWords = []struct {
	bytes  int
	suffix string
}{{1, "b8"}, {2, "b16"}, {4, "b32"}, {8, "v2.b32"}, {16, "v4.b32"}, {32, "v8.b32"}}

// on reports whether a target has the row. It looks up the instructions of the row on demand.
func (c *Copy) on(t *target.Target) bool {
	c.find.Do(func() {
		c.Op, c.Guarded = ptxop.Must(c.Name), ptxop.Lookup("@"+c.Name)
		c.Need = c.Op.Need
	})
	return c.Need.On(t)
}

func vectorCopies(kind CopyKind) (out []*Copy) {
	prefix := map[CopyKind]string{LoadGlobal: "ld.global.", StoreGlobal: "st.global.", LoadShared: "ld.shared.", StoreShared: "st.shared."}[kind]
	for _, w := range vectorWords {
		if w.bytes <= 16 || kind == LoadGlobal || kind == StoreGlobal {
			out = append(out, &Copy{Name: prefix + w.suffix, Kind: kind, Bytes: w.bytes})
		}
	}
	return out
}

func matrixCopies(kind CopyKind) (out []*Copy) {
	prefix := map[CopyKind]string{LoadMatrix: "ldmatrix", StoreMatrix: "stmatrix"}[kind]
	for _, trans := range []string{"", ".trans"} {
		for _, n := range []int{1, 2, 4} {
			out = append(out, &Copy{Name: fmt.Sprintf("%s.m8n8.x%d%s.shared.b16", prefix, n, trans), Kind: kind, Bytes: 16, Matrices: n, Trans: trans != ""})
		}
	}
	return out
}

// asyncCopies are cp.async: .ca caches in L1 and takes 4, 8, 16 bytes; .cg bypasses L1 and takes 16 only. It comes last, so it is preferred.
func asyncCopies() (out []*Copy) {
	for _, c := range []struct {
		name  string
		bytes int
	}{{"ca", 4}, {"ca", 8}, {"ca", 16}, {"cg", 16}} {
		out = append(out, &Copy{Name: fmt.Sprintf("cp.async.%s.shared.global.%d", c.name, c.bytes), Kind: AsyncCopy, Bytes: c.bytes})
	}
	return out
}

// CopyOf is the preferred row of a kind that moves exactly so many bytes a lane, on whichever targets; nil if there is none.
func CopyOf(kind CopyKind, bytes int) *Copy {
	for _, c := range slices.Backward(copies[kind]()) {
		if c.Matrices == 0 && c.Bytes == bytes {
			return c
		}
	}
	return nil
}

// SelectCopy is the widest row of a kind that a target has and that moves at most bytes a lane; nil if there is none.
func SelectCopy(t *target.Target, kind CopyKind, bytes int) *Copy {
	for _, c := range slices.Backward(copies[kind]()) {
		if c.Matrices == 0 && c.Bytes <= bytes && c.on(t) {
			return c
		}
	}
	return nil
}

// SelectMatrix is the row that loads or stores so many matrices at once; nil if the target has none.
func SelectMatrix(t *target.Target, kind CopyKind, matrices int, trans bool) *Copy {
	for _, c := range copies[kind]() {
		if c.Matrices == matrices && c.Trans == trans && c.on(t) {
			return c
		}
	}
	return nil
}
