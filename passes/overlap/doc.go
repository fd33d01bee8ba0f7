// Package overlap has a tile block do things at the same time: loops whose loads and copies run iterations ahead, products in flight while threads
// compute, roles of warps that copy or multiply for the others.
package overlap
