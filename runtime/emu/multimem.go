package emu

// decodeMultimem: accesses through multimem addresses, which stand for one place in the memory of each of several devices (PTX ISA,
// "multimem.ld_reduce, multimem.st, multimem.red"). The emulator is one device, whose memory such an address names: what writes all
// copies writes one.
func decodeMultimem(d *decoder) {
	for _, m := range d.mods {
		if s, ok := spaceNames[m]; ok && s != spGlobal {
			d.fail("multimem outside of global memory")
			return
		}
	}
	switch {
	case d.flag("st"):
		decodeSt(d)
	default:
		d.fail("multimem operation")
	}
}
