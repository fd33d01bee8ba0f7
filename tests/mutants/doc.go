// Package mutants breaks the compiler, the interpreter and the emulator on purpose, in one place at a time, and looks whether a test notices.
//
//	source of some packages --Sites--> places that can be broken --Choose--> the ones of this run
//	                                                                  |
//	     every one behind a switch, in copies of the files <--Overlay--'
//	                      |
//	     go test -c -overlay: one set of test programs with all mutants in it, none of them on
//	                      |
//	     each test alone, no mutant on: which mutants it reaches, and how long it takes
//	                      |
//	     each mutant on alone, under the tests that reach it, short ones first, until one fails: killed
//
// A mutant that no test fails on survives. survivors.txt explains those that change nothing that anybody can see; the others ask for a
// test. The working tree is never touched: the go command reads the copies in its place (go help build, -overlay), and tests
// run in a copy of it.
package mutants
