package emu

func decodeTensormap(d *decoder)             { d.fail("tensormap") }
func (d *decoder) tensorOperands(op *bulkOp) { d.fail("tensor copies") }
