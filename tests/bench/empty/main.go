// Command empty does nothing: its time is what the system takes to start a Go program.
package main

func main() {}
