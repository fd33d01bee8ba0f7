package ir

import "strconv"

// Count is a number with its word, for messages: "1 byte", "2 bytes".
func Count(n int, word string) string {
	if n == 1 {
		return "1 " + word
	}
	return strconv.Itoa(n) + " " + word + "s"
}
