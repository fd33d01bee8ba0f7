package tileaa

import "tileiras/ir"

// PlacedMemory is the size and alignment of the shared memory of an op. Sizes beyond that of any multiprocessor are capped.
func PlacedMemory(op *ir.Op) (bytes, align int) {
	a, ok := ir.As[Alloca](op)
	if !ok {
		return SharedMemory(op.Result(0).Type())
	}
	elem := AsTile(a.Result()).Elem.(*PtrType).Elem
	return int(min(a.NumElem(), 1<<30)) * ElemBytes(elem), int(min(max(1, a.Alignment()), 1<<30))
}

// SharedMemory is the memory that a buffer or a ring takes.
func SharedMemory(t ir.Type) (bytes, align int) {
	switch t := t.(type) {
	case *RingType:
		return int(t.Slots) * t.SlotBytes(), t.Buffer.Align()
	case *PipelineType:
		return t.Bytes(), MbarrierBytes
	case *TensorMemoryType:
		return t.Bytes(), MbarrierBytes
	case *MapMemoryType:
		return t.Bytes(), MapBytes
	}
	b := t.(*BufferType)
	return b.Bytes(), b.Align()
}
