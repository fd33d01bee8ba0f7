package mutate

import "reflect"

// Field sets a field of options to a value that is no default, and reports whether it knows one of its kind.
func Field(f reflect.Value) bool {
	switch {
	case f.Kind() == reflect.String:
		f.SetString("x")
	case f.Kind() == reflect.Bool:
		f.SetBool(true)
	case f.CanInt():
		f.SetInt(1)
	case f.CanUint():
		f.SetUint(1)
	case f.Kind() == reflect.Slice:
		f.Set(reflect.MakeSlice(f.Type(), 1, 1))
	default:
		return false
	}
	return true
}
