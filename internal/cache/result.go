package cache

import (
	"encoding/binary"
	"errors"
	"strings"
)

// The messages of Bazel's remote execution API that a cache holds, in the wire format of protocol buffers: servers check that an entry
// of ac is an ActionResult whose files they have (build/bazel/remote/execution/v2/remote_execution.proto).
//
//	message ActionResult { repeated OutputFile output_files = 2; }
//	message OutputFile   { string path = 1; Digest digest = 2; }
//	message Digest       { string hash = 1; int64 size_bytes = 2; }

type digest struct {
	hash string // of SHA-256, in hexadecimal
	size int64
}

type outputFile struct {
	path   string
	digest digest
}

const (
	varintWire = 0
	bytesWire  = 2
)

func appendBytes(b []byte, field int, data []byte) []byte {
	b = binary.AppendUvarint(b, uint64(field)<<3|bytesWire)
	b = binary.AppendUvarint(b, uint64(len(data)))
	return append(b, data...)
}

func encodeResult(files []outputFile) []byte {
	var out []byte
	for _, f := range files {
		d := appendBytes(nil, 1, []byte(f.digest.hash))
		d = binary.AppendUvarint(d, 2<<3|varintWire)
		d = binary.AppendUvarint(d, uint64(f.digest.size))
		file := appendBytes(nil, 1, []byte(f.path))
		out = appendBytes(out, 2, appendBytes(file, 2, d))
	}
	return out
}

var errWire = errors.New("it is no ActionResult")

// fields calls visit for every field of a message.
func fields(b []byte, visit func(field int, number uint64, data []byte) error) error {
	for len(b) > 0 {
		tag, n := binary.Uvarint(b)
		if n <= 0 {
			return errWire
		}
		b = b[n:]
		var number uint64
		var data []byte
		switch tag & 7 {
		case varintWire:
			if number, n = binary.Uvarint(b); n <= 0 {
				return errWire
			}
			b = b[n:]
		case bytesWire:
			size, n := binary.Uvarint(b)
			if n <= 0 || size > uint64(len(b)-n) {
				return errWire
			}
			data, b = b[n:n+int(size)], b[n+int(size):]
		case 1, 5: // 64 and 32 bits
			size := map[uint64]int{1: 8, 5: 4}[tag&7]
			if len(b) < size {
				return errWire
			}
			b = b[size:]
		default:
			return errWire
		}
		if err := visit(int(tag>>3), number, data); err != nil {
			return err
		}
	}
	return nil
}

func decodeResult(b []byte) ([]outputFile, error) {
	var files []outputFile
	err := fields(b, func(field int, _ uint64, data []byte) error {
		if field != 2 {
			return nil // what else servers add
		}
		var f outputFile
		err := fields(data, func(field int, _ uint64, data []byte) error {
			switch field {
			case 1:
				f.path = string(data)
			case 2:
				return fields(data, func(field int, number uint64, data []byte) error {
					switch field {
					case 1:
						f.digest.hash = string(data)
					case 2:
						f.digest.size = int64(number)
					}
					return nil
				})
			}
			return nil
		})
		files = append(files, f)
		if err == nil && (len(f.digest.hash) != 64 || strings.Trim(f.digest.hash, "0123456789abcdef") != "") {
			err = errWire
		}
		return err
	})
	if err == nil && len(files) == 0 {
		err = errWire
	}
	return files, err
}
