// Package layout holds the algebra of linear layouts over F2, the field of two elements.
//
// Every dimension of a tile is a power of two, so an index is a bit vector, and a distribution of a tile over registers, lanes,
// warps and blocks is a 0/1 matrix: every input bit has a basis, the element it selects, and the element held at
// (reg, lane, warp, block) is the XOR of the bases of the bits that are set (linear layouts, arXiv 2505.23819).
//
// Elements are numbered row-major: the bits of all dimensions are concatenated, those of the last dimension lowest. A 4x8 tile:
//
//	flat bit    4    3  |  2    1    0
//	            m1   m0 |  n2   n1   n0
//
// A load of that tile by 8 lanes, four consecutive elements each, is the matrix
//
//	     reg0 reg1 | lane0 lane1 lane2
//	n0     1    .  |   .     .     .          lane 0 holds row 0 columns 0..3,
//	n1     .    1  |   .     .     .          lane 1       row 0 columns 4..7,
//	n2     .    .  |   1     .     .          lane 2       row 1 columns 0..3, ...
//	m0     .    .  |   .     1     .
//	m1     .    .  |   .     .     1
//
// All questions are questions about matrices: two input bits with dependent bases hold replicas (the kernel of the map); a
// conversion between two layouts is inverse(src) * dst; a vector access is a subspace that the register bits span; a swizzle
// without bank conflicts is a subspace that the lanes of both sides meet only in zero.
//
// The package imports the standard library only. It knows no instruction, target, type or operation.
package layout
