package emu

func decodeWgmma(d *decoder)      { d.fail("wgmma") }
func decodeSetmaxnreg(d *decoder) { decodeNothing(d) }
