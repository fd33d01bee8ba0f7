package emu

// decodeMultimem: accesses through multimem addresses, which stand for one place in the memory of each of several devices (PTX ISA,
// "multimem.ld_reduce, multimem.st, multimem.red"). The emulator is one device, whose memory such an address names: what writes all
// copies writes one, what reduces over all copies reads one.
func decodeMultimem(d *decoder) {
	for _, m := range d.mods {
		if s, ok := spaceNames[m]; ok && s != spGlobal {
			d.lacks("multimem outside of global memory")
			return
		}
	}
	switch d.oneOf("st", "red", "ld_reduce") {
	case "st":
		decodeSt(d)
	case "red":
		d.base = "red"
		decodeAtom(d)
	case "ld_reduce":
		if d.oneOf("add", "min", "max", "and", "or", "xor") == "" {
			d.malformed("a reduction is missing")
		}
		decodeLd(d)
	default:
		d.lacks("multimem operation")
	}
}
