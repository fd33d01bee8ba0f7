package products

// AllTypes are the element types of products, one of each kind.
var AllTypes = []Types{
	{"f16", "f16", "f32"}, {"bf16", "bf16", "f32"}, {"f16", "f16", "f16"}, {"f32", "f32", "f32"}, {"f64", "f64", "f64"}, {"i8", "i8", "i32"},
	{"f8E4M3FN", "f8E4M3FN", "f32"}, {"f8E5M2", "f8E5M2", "f16"}, {"tf32", "tf32", "f32"},
}

// Extents are batch, M, N, K of products of which some part is too big for a GPU as a whole: the accumulators for the registers, an
// operand for shared memory, the steps along K for straight code; and thin ones, whose operands are big for what they compute.
var Extents = [][4]int{
	{0, 16, 16, 16}, {0, 128, 128, 64},
	// Accumulators.
	{0, 128, 256, 64}, {0, 256, 128, 64}, {0, 256, 256, 32}, {0, 256, 256, 64}, {0, 256, 256, 128}, {0, 128, 512, 64}, {0, 512, 256, 64},
	{0, 512, 128, 32}, {0, 256, 512, 32}, {0, 512, 512, 32}, {16, 64, 64, 32}, {8, 64, 64, 64}, {4, 128, 128, 32}, {2, 128, 128, 64},
	// Operands.
	{0, 64, 64, 1024}, {0, 16, 16, 1024}, {0, 128, 128, 256}, {0, 128, 128, 512}, {0, 16, 512, 512}, {0, 16, 64, 2048}, {32, 16, 16, 64},
	// Thin.
	{0, 1, 256, 256}, {0, 1, 1024, 64}, {0, 1024, 1, 64}, {16, 1, 64, 64}, {16, 1, 16, 256}, {4, 64, 256, 1}, {4, 1, 16, 256}, {4, 32, 1, 128},
	{8, 1, 32, 64}, {64, 1, 64, 64}, {16, 1, 128, 128}, {4, 128, 1, 32}, {2, 128, 1, 32},
}

// Family is the products of some types, in every form.
func Family(types ...Types) []Product {
	var list []Product
	for _, t := range types {
		for _, e := range Extents {
			for f := range formNames {
				list = append(list, Product{t, e[0], e[1], e[2], e[3], Form(f)})
			}
		}
	}
	return list
}
