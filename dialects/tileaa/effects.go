package tileaa

import (
	"slices"

	"tileiras/ir"
)

// Space is where the memory of an effect lies.
type Space uint8

const (
	// GlobalSpace is memory behind a pointer: global memory, or a slot of the tile block's own (alloca).
	GlobalSpace Space = iota
	// SharedSpace is a buffer.
	SharedSpace
	// Outside is what lies outside the program, and with Fence all memory.
	Outside
)

// Effect is one way in which an operation touches memory.
type Effect struct {
	ir.EffectDef
	Space Space
	// Value is the address: a block, a tile of pointers, a buffer; for Allocate the result; nil for Outside.
	Value *ir.Value
}

// Effects lists what an operation of this dialect does with memory, by its row. Operations inside its regions count for themselves.
func Effects(op *ir.Op) []Effect {
	list := make([]Effect, 0, len(op.Def.Effects))
	for _, d := range op.Def.Effects {
		if e, has := effect(op, d); has {
			list = append(list, e)
		}
	}
	return list
}

// effect is what an operation does of what its row says; nothing if a value is no address.
func effect(op *ir.Op, d ir.EffectDef) (e Effect, has bool) {
	e = Effect{EffectDef: d, Space: Outside}
	switch {
	case d.On != "":
		e.Value = op.OperandOf(op.Def.OperandIndex(d.On))
	case d.Kind == ir.Allocate:
		e.Value = op.Result(0)
	}
	if e.Value != nil {
		e.Space = spaceOf(e.Value.Type())
	}
	return e, e.Space != Outside || !d.IfMemory
}

// spaceOf is the memory to which a value of a type leads; Outside for values that are no addresses.
func spaceOf(t ir.Type) Space {
	switch t := t.(type) {
	case *BufferType, *RingType, *PipelineType, *TensorMemoryType, *MapMemoryType:
		return SharedSpace
	case *BlockType:
		return GlobalSpace
	case *TileType:
		if _, ok := t.Elem.(*PtrType); ok {
			return GlobalSpace
		}
	}
	return Outside
}

// Touches reports whether an operation has an effect of one of these kinds on memory of a space.
func Touches(op *ir.Op, kinds ir.EffectKind, s Space) bool {
	return slices.ContainsFunc(op.Def.Effects, func(d ir.EffectDef) bool {
		if d.Kind&kinds == 0 {
			return false
		}
		e, has := effect(op, d)
		return has && e.Space == s
	})
}
