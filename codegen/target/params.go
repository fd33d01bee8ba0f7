package target

// ParamSpace is how many bytes the parameters of a kernel take, one behind the other.
type ParamSpace int64

// MaxParams is the most that they may take (PTX ISA, "Kernel Function Parameters").
const MaxParams ParamSpace = 32764

// Add puts a parameter behind the others.
func (s *ParamSpace) Add(size, align int64) { *s = ParamSpace((int64(*s)+align-1)/align*align + size) }

// Need says what so many parameters ask for: more than 4352 bytes came with PTX 8.1, for sm_70 and later.
func (s ParamSpace) Need() Need {
	if s > 4352 {
		return Need{SM: 70, PTX: V(8, 1)}
	}
	return Need{}
}
