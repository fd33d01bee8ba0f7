package ir

// Printer, Parser and ParsedOp are the text form; see printer.go and parser.go.
type Printer struct{}
type Parser struct{}
type ParsedOp struct{}
