package ptxop

// NameRule says what names of PTX are, for messages.
const NameRule = "PTX names are letters, digits, _ and $, not a digit first, and not _, $ or WARP_SZ alone"

// IsName reports whether a string is an identifier of PTX (PTX ISA, "Identifiers") that can be declared.
func IsName(s string) bool {
	for i, c := range []byte(s) {
		letter := 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
		digit := '0' <= c && c <= '9'
		if !letter && (!digit || i == 0) && c != '_' && c != '$' {
			return false
		}
	}
	return s != "" && s != "_" && s != "$" && s != "WARP_SZ"
}

// NameLike is a name of PTX that resembles a string.
func NameLike(s string) string {
	b := []byte(s)
	for i := range b {
		if !IsName("a" + string(b[i])) {
			b[i] = '_'
		}
	}
	if !IsName(string(b)) {
		return "_" + string(b) + "_"
	}
	return string(b)
}
