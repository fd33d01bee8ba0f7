// Package memory gives buffers their offsets in shared memory and sums their columns in tensor memory, and makes tensor maps.
package memory
