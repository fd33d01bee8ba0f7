package cache

// DigestOf is the digest of a file.
func DigestOf(data []byte) string { return digestOf(data).hash }

// DigestsIn are the digests that an ActionResult names.
func DigestsIn(result []byte) ([]string, error) {
	var digests []string
	files, err := decodeResult(result)
	for _, f := range files {
		digests = append(digests, f.digest.hash)
	}
	return digests, err
}
