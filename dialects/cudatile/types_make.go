package cudatile

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"tileiras/dialects/cudatile/def"
	"tileiras/ir"
	"tileiras/ir/float"
)

// The makers below check what they make and say what is wrong with it in the words of the Tile IR type verifiers. Equal
// arguments give the same pointer within a context.

type (
	tileKey struct {
		shape string
		elem  ir.Type
	}
	ptrKey struct {
		elem ir.Type
		attr Optional[def.PtrAttr]
	}
	tensorViewKey struct {
		elem           ir.Type
		shape, strides string
		attr           Optional[def.PtrAttr]
	}
	partitionKey struct {
		tile    *TileType
		tensor  *TensorViewType
		dimMap  string
		padding Optional[def.Padding]
	}
	stridedKey struct {
		tile              *TileType
		traversal, dimMap string
		tensor            *TensorViewType
		padding           Optional[def.Padding]
	}
	gatherKey struct {
		tile      *TileType
		tensor    *TensorViewType
		sparseDim int
		padding   Optional[def.Padding]
	}
	tokenKey struct{}
)

// Scalar is the tile of rank 0 of an element type. It panics when there is none.
func Scalar(c *ir.Context, elem ir.Type) *TileType { return MustTile(c, elem) }

// MustTile is Tile for arguments that are known to be right.
func MustTile(c *ir.Context, elem ir.Type, shape ...int64) *TileType {
	t, err := Tile(c, elem, shape)
	if err != nil {
		panic("BUG: tile type: " + err.Error())
	}
	return t
}

// Token is the token type.
func Token(c *ir.Context) *TokenType {
	return ir.Intern(c, tokenKey{}, func() *TokenType { return &TokenType{} })
}

// Tile makes a tile type.
func Tile(c *ir.Context, elem ir.Type, shape []int64) (*TileType, error) {
	if err := checkTile(elem, shape); err != nil {
		return nil, err
	}
	return ir.Intern(c, tileKey{ir.ShapeKey(shape), elem}, func() *TileType {
		return &TileType{Shape: append([]int64(nil), shape...), Elem: elem}
	}), nil
}

func checkTile(elem ir.Type, shape []int64) error {
	if !isTileElement(elem) {
		return errors.New("failed to verify 'elementType': " + tileElementText)
	}
	for _, d := range shape {
		if d <= 0 {
			return fmt.Errorf("all dimensions must be positive constants, got %s", list(shape))
		}
	}
	if ir.IsFloat(elem, float.F4E2M1FN) && !slices.ContainsFunc(shape, func(d int64) bool { return d%2 == 0 }) {
		return errors.New("F4E2M1FN tiles must have an even number of elements")
	}
	for _, d := range shape {
		if d&(d-1) != 0 {
			return fmt.Errorf("all dimensions must be powers of two, got %s", list(shape))
		}
	}
	n := int64(1)
	for _, d := range shape {
		if d > MaxTileElements/n {
			return fmt.Errorf("tile would exceed the maximum of %d elements", MaxTileElements)
		}
		n *= d
	}
	return nil
}

// Ptr makes a pointer type.
func Ptr(c *ir.Context, elem ir.Type, attr Optional[def.PtrAttr]) (*PtrType, error) {
	if !isNumber(elem) {
		return nil, errors.New("failed to verify 'pointeeType': " + numberText)
	}
	return ir.Intern(c, ptrKey{elem, attr}, func() *PtrType { return &PtrType{elem, attr} }), nil
}

// TensorView makes a tensor view type.
func TensorView(c *ir.Context, elem ir.Type, shape, strides []int64, attr Optional[def.PtrAttr]) (*TensorViewType, error) {
	if !isNumber(elem) {
		return nil, errors.New("failed to verify 'elementType': " + numberText)
	}
	if len(shape) != len(strides) {
		return nil, fmt.Errorf("expected shape and stride to be of same rank but got shape of rank %d and stride of rank %d",
			len(shape), len(strides))
	}
	if !positiveOrDynamic(shape) {
		return nil, fmt.Errorf("dimensions must have strictly positive constant sizes but got [%s]", list(shape))
	}
	if !positiveOrDynamic(strides) {
		return nil, fmt.Errorf("dimensions must have strictly positive constant strides but got [%s]", list(strides))
	}
	key := tensorViewKey{elem, ir.ShapeKey(shape), ir.ShapeKey(strides), attr}
	return ir.Intern(c, key, func() *TensorViewType {
		return &TensorViewType{elem, append([]int64(nil), shape...), append([]int64(nil), strides...), attr}
	}), nil
}

// PartitionView makes a partition view type.
func PartitionView(c *ir.Context, tile []int64, tv *TensorViewType, dimMap []int, padding Optional[def.Padding]) (*PartitionViewType, error) {
	t, err := viewTile(c, tile, tv, dimMap, padding)
	if err != nil {
		return nil, err
	}
	key := partitionKey{t, tv, intsKey(dimMap), padding}
	return ir.Intern(c, key, func() *PartitionViewType {
		return &PartitionViewType{t, tv, append([]int(nil), dimMap...), padding}
	}), nil
}

// StridedView makes a strided view type.
func StridedView(c *ir.Context, tile, traversal []int64, tv *TensorViewType, dimMap []int, padding Optional[def.Padding]) (*StridedViewType, error) {
	t, err := viewTile(c, tile, tv, dimMap, padding)
	if err != nil {
		return nil, err
	}
	if len(traversal) != len(tile) {
		return nil, fmt.Errorf("expected %d traversal strides, got %d", len(tile), len(traversal))
	}
	for _, d := range traversal {
		if d <= 0 {
			return nil, fmt.Errorf("traversal strides must be strictly positive but got [%s]", list(traversal))
		}
	}
	key := stridedKey{t, ir.ShapeKey(traversal), intsKey(dimMap), tv, padding}
	return ir.Intern(c, key, func() *StridedViewType {
		return &StridedViewType{t, append([]int64(nil), traversal...), tv, append([]int(nil), dimMap...), padding}
	}), nil
}

// GatherScatterView makes a gather/scatter view type.
func GatherScatterView(c *ir.Context, tile []int64, tv *TensorViewType, sparseDim int, padding Optional[def.Padding]) (*GatherScatterViewType, error) {
	t, err := viewTile(c, tile, tv, identity(len(tile)), padding)
	if err != nil {
		return nil, err
	}
	if sparseDim < 0 || sparseDim >= len(tile) {
		return nil, fmt.Errorf("gather dimension is outside of tensor view dimensions, expected strictly less than %d, got %d",
			len(tile), sparseDim)
	}
	return ir.Intern(c, gatherKey{t, tv, sparseDim, padding}, func() *GatherScatterViewType {
		return &GatherScatterViewType{t, tv, sparseDim, padding}
	}), nil
}

// viewTile checks what all views have in common and makes the type of a loaded tile.
func viewTile(c *ir.Context, tile []int64, tv *TensorViewType, dimMap []int, padding Optional[def.Padding]) (*TileType, error) {
	rank := len(tv.Shape)
	if len(tile) == 0 {
		return nil, errors.New("0-dimension tile shape is not supported")
	}
	if rank != len(tile) {
		return nil, fmt.Errorf("expected tensor_view rank and tile rank to match, got tensor_view of rank %d and tiles of rank %d",
			rank, len(tile))
	}
	if len(dimMap) != len(tile) {
		return nil, fmt.Errorf("expected dim_map to map exactly all %d dimensions of the tile, got %d mappings",
			len(tile), len(dimMap))
	}
	for _, d := range tile {
		if d <= 0 {
			return nil, fmt.Errorf("tile shape dimensions must have positive length but got [%s]", list(tile))
		}
	}
	for _, d := range tile {
		if d&(d-1) != 0 {
			return nil, fmt.Errorf("tile shape dimensions must have power of two length but got [%s]", list(tile))
		}
	}
	from := make(map[int]int, rank)
	for i, d := range dimMap {
		if d < 0 {
			return nil, fmt.Errorf("target dimension must not be negative, got %d", d)
		}
		if d >= rank {
			return nil, fmt.Errorf("target dimension is outside of tensor view dimensions, expected strictly less than %d, got %d",
				rank, d)
		}
		if j, ok := from[d]; ok {
			return nil, fmt.Errorf("target dimension %d mapped at least twice (for tile dimensions %d and %d)", d, j, i)
		}
		from[d] = i
	}
	t, err := Tile(c, tv.Elem, tile)
	if err != nil {
		return nil, err
	}
	if v, ok := padding.Get(); ok && v != def.PadZero && !ir.IsFloat(tv.Elem) {
		return nil, fmt.Errorf("padding_value %s can only be used with floating point element types, got %s",
			def.PaddingEnum.Keyword(v), ir.ShortType(tv.Elem))
	}
	return t, nil
}

func positiveOrDynamic(dims []int64) bool {
	for _, d := range dims {
		if d <= 0 && d != Dynamic {
			return false
		}
	}
	return true
}

// list prints dimensions as messages do, "4, ?".
func list(dims []int64) string {
	var b strings.Builder
	writeDims(&b, dims, ", ")
	return b.String()
}

func intsKey(m []int) string {
	dims := make([]int64, len(m))
	for i, d := range m {
		dims[i] = int64(d)
	}
	return ir.ShapeKey(dims)
}
