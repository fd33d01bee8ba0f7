package target

const (
	kb = 1024
	// Everything since sm_75 has these (CUDA programming guide, "Technical
	// specifications per compute capability").
	registersPerSM     = 65536
	registersPerThread = 255
	threadsPerBlock    = 1024
	sharedStatic       = 48 * kb
)

// rows is the table of GPUs. Sources: PTX ISA, directive `.target` (versions);
// CUDA programming guide, technical specifications per compute capability
// (warps, blocks, shared memory); shared opt-in sizes are those ptxas enforces.
// A thread block can have all of the multiprocessor's shared memory but 1 KB,
// which the system keeps.
var rows = [...]Target{
	//    name      number  .target        suffix, version   opt-in      per SM          warps blocks cluster
	row("sm_75", 75, V(6, 3), false, 0, 64*kb, 64*kb, 32, 16, 1),
	row("sm_80", 80, V(7, 0), false, 0, 163*kb, 164*kb, 64, 32, 1),
	row("sm_86", 86, V(7, 1), false, 0, 99*kb, 100*kb, 48, 16, 1),
	row("sm_87", 87, V(7, 4), false, 0, 163*kb, 164*kb, 48, 16, 1),
	row("sm_88", 88, V(9, 0), false, 0, 99*kb, 100*kb, 48, 16, 1),
	row("sm_89", 89, V(7, 8), false, 0, 99*kb, 100*kb, 48, 24, 1),
	row("sm_90", 90, V(7, 8), true, V(8, 0), 227*kb, 228*kb, 64, 32, 8),
	row("sm_100", 100, V(8, 6), true, V(8, 6), 227*kb, 228*kb, 64, 32, 8),
	row("sm_103", 103, V(8, 8), true, V(8, 8), 227*kb, 228*kb, 64, 32, 8),
	row("sm_107", 107, V(9, 4), true, V(9, 4), 327*kb, 328*kb, 64, 32, 8),
	row("sm_110", 110, V(9, 0), true, V(9, 0), 227*kb, 228*kb, 48, 24, 8),
	row("sm_120", 120, V(8, 7), true, V(8, 7), 99*kb, 100*kb, 48, 24, 8),
	row("sm_121", 121, V(8, 8), true, V(8, 8), 99*kb, 100*kb, 48, 24, 8),
}

func row(name string, number int, ptx PTX, arch bool, archPTX PTX, optIn, perSM, warps, blocks, cluster int) Target {
	return Target{
		Name: name, Number: number, PTX: ptx, Arch: arch, ArchPTX: archPTX,
		SharedStatic: sharedStatic, SharedOptIn: optIn, SharedPerSM: perSM,
		Registers: registersPerSM, RegistersPerThread: registersPerThread,
		ThreadsPerBlock: threadsPerBlock, WarpsPerSM: warps, BlocksPerSM: blocks, ClusterMax: cluster,
	}
}

func init() {
	for i := range rows {
		rows[i].index = uint(i)
		All = append(All, &rows[i])
	}
}

// A Feature is a hardware ability that passes ask for by name; instructions
// carry their own Need (codegen/ptxop).
type Feature struct {
	Name string
	Need Need
	Text string // one sentence
}

// Features is the table of features, in the order in which hardware got them.
var Features = [...]Feature{
	{"ldmatrix", Need{SM: 75, PTX: V(6, 5)}, "8x8 matrices of 16-bit elements from shared memory to mma fragments"},
	{"mma.f16", Need{SM: 75, PTX: V(6, 5)}, "warp-level f16 and int8 matrix product"},
	{"f16x2.minmax", Need{SM: 80, PTX: V(7, 0)}, "packed half minimum and maximum"},
	{"cp.async", Need{SM: 80, PTX: V(7, 0)}, "asynchronous copies of 4, 8 or 16 bytes from global to shared memory"},
	{"mma.bf16", Need{SM: 80, PTX: V(7, 0)}, "warp-level bf16, tf32 and f64 matrix product, f16 and int8 of double depth"},
	{"bf16x2.fma", Need{SM: 80, PTX: V(7, 0)}, "packed bf16 fma, minimum and maximum"},
	{"redux", Need{SM: 80, PTX: V(7, 0)}, "integer reduction over a warp in one instruction"},
	{"minmax.nan", Need{SM: 80, PTX: V(7, 0)}, "minimum and maximum that propagate NaN"},
	{"fp8.cvt", Need{SM: 89, PTX: V(8, 1)}, "packed conversions from and to e4m3 and e5m2"},
	{"mma.fp8", Need{SM: 89, PTX: V(8, 4)}, "warp-level e4m3 and e5m2 matrix product"},
	{"bf16x2.add", Need{SM: 90, PTX: V(7, 8)}, "packed bf16 addition and multiplication"},
	{"stmatrix", Need{SM: 90, PTX: V(7, 8)}, "mma fragments to 8x8 matrices in shared memory"},
	{"cluster", Need{SM: 90, PTX: V(7, 8)}, "thread block clusters and distributed shared memory"},
	{"griddep", Need{SM: 90, PTX: V(7, 8)}, "programmatic dependent launch"},
	{"bulk", Need{SM: 90, PTX: V(8, 0)}, "bulk and tensor-map copies, mbarrier transactions"},
	{"setmaxnreg", Need{Arch: SMs(90, 100, 103, 107, 110, 120, 121), PTX: V(8, 0)}, "registers moved between warpgroups"},
	{"wgmma", Need{Arch: SMs(90), PTX: V(8, 0)}, "warpgroup matrix product"},
	{"tcgen05", Need{Arch: SMs(100, 103, 107, 110), PTX: V(8, 6)}, "matrix product with accumulators in tensor memory"},
	{"fp4.cvt", Need{Arch: SMs(100, 103, 107, 110, 120, 121), PTX: V(8, 6)}, "packed conversions from and to e2m1 and ue8m0"},
	{"mma.blockscale", Need{Arch: SMs(120, 121), PTX: V(8, 7)}, "warp-level block-scaled 8, 6 and 4 bit matrix product"},
}

// Has reports whether the target has the named feature. It panics on a name
// that no row has.
func (t *Target) Has(feature string) bool {
	for i := range Features {
		if Features[i].Name == feature {
			return Features[i].Need.On(t)
		}
	}
	panic("target: no feature " + feature)
}
