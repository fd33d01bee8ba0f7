package tilerun

import (
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"tileiras/internal/driver"
	"tileiras/runtime/cases"
	"tileiras/runtime/emu"
	"tileiras/runtime/executor"
)

// failure is why a case has failed, for programs.
type failure struct {
	Kind    string `json:"kind,omitempty"`  // one below, what the engine calls a fault of the kernel, or driver.Kind of a compile
	Place   string `json:"place,omitempty"` // file:line:column of the source or the PTX
	Message string `json:"message,omitempty"`
}

// Kinds of failures beside the faults of kernels and the failures of compiles (driver.Kind).
const (
	kindCase     = "case"       // the case cannot be read, or the launch does not fit the kernel
	kindMismatch = "mismatch"   // of results, printed text or the failure that the case expects
	kindAssert   = "assertion"  // of the kernel
	kindLate     = "time limit" // it took longer
	kindLost     = "machine"    // there is none, or it was lost with the kernel
)

// fault is what a kernel did wrong in the words of the engine, and where.
type fault struct{ *executor.Fault }

func (f fault) Error() string { return f.Fault.Unwrap().Error() }

// whyFailed sorts the failure of a case that has run.
func whyFailed(v *cases.Verdict) failure {
	why := failure{Kind: kindMismatch, Message: v.Reason}
	var f fault
	var compile *driver.Failure
	var syntax *emu.SyntaxError
	var unread *emu.UnsupportedError
	at := func(file string, line, column int) string { return fmt.Sprintf("%s:%d:%d", file, line, column) }
	switch {
	case errors.As(v.Err, &f):
		if why.Kind = string(f.Kind); len(f.Places) > 0 {
			why.Place = f.Places[0].String()
		}
	case errors.As(v.Err, &compile):
		why.Kind = string(compile.Kind)
	case errors.As(v.Err, &syntax):
		why.Kind, why.Place = string(driver.KindText), at(syntax.File, syntax.Line, syntax.Col)
	case errors.As(v.Err, &unread):
		why.Place = at(unread.File, unread.Line, unread.Col)
	case v.Outcome == nil:
		why.Kind = kindCase
	case v.Outcome.AssertFailed:
		why.Kind = kindAssert
	}
	if v.Status == cases.Unsupported {
		why.Kind = string(driver.KindUnsupported)
	}
	return why
}

// lost is the failure of a case that was run elsewhere, and of which nothing more is known.
func lost(err error) failure {
	why := failure{Kind: kindLost, Message: err.Error()}
	if _, late := err.(tooLate); late {
		why.Kind = kindLate
	}
	return why
}

// report is what --report writes of all cases.
type report struct {
	Passed  int        `json:"passed"`
	Failed  int        `json:"failed"`
	Seconds float64    `json:"seconds"`
	Cases   []reported `json:"cases"`
}

// reported is one case of a report.
type reported struct {
	Name    string  `json:"name"`
	File    string  `json:"file"`
	Passed  bool    `json:"passed"`
	Seconds float64 `json:"seconds"`
	failure
}

func (r *report) add(file string, l line, took time.Duration) {
	r.Cases = append(r.Cases, reported{Name: l.Name, File: filepath.ToSlash(file), Passed: l.OK, Seconds: took.Seconds(), failure: l.Failure})
}

// isReport tells whether a report can be written to a file of this name.
func isReport(file string) bool {
	return filepath.Ext(file) == ".json" || filepath.Ext(file) == ".xml"
}

// text is the report in the format that the name of the file asks for.
func (r *report) text(file string) []byte {
	if filepath.Ext(file) == ".xml" {
		return r.junit()
	}
	text, _ := json.MarshalIndent(r, "", "  ")
	return append(text, '\n')
}

// The format of JUnit, as far as it is one.
type (
	suiteXML struct {
		XMLName  xml.Name  `xml:"testsuite"`
		Name     string    `xml:"name,attr"`
		Tests    int       `xml:"tests,attr"`
		Failures int       `xml:"failures,attr"`
		Time     string    `xml:"time,attr"`
		Cases    []caseXML `xml:"testcase"`
	}
	caseXML struct {
		Name    string      `xml:"name,attr"`
		Class   string      `xml:"classname,attr"`
		File    string      `xml:"file,attr"`
		Time    string      `xml:"time,attr"`
		Failure *failureXML `xml:"failure"`
	}
	failureXML struct {
		Kind    string `xml:"type,attr"`
		Message string `xml:"message,attr"`
		Text    string `xml:",chardata"`
	}
)

func (r *report) junit() []byte {
	seconds := func(s float64) string { return fmt.Sprintf("%.3f", s) }
	suite := suiteXML{Name: "tilerun", Tests: r.Passed + r.Failed, Failures: r.Failed, Time: seconds(r.Seconds)}
	for _, c := range r.Cases {
		x := caseXML{Name: c.Name, Class: "tilerun", File: c.File, Time: seconds(c.Seconds)}
		if !c.Passed {
			first, _, _ := strings.Cut(c.Message, "\n")
			x.Failure = &failureXML{Kind: c.Kind, Message: first, Text: c.Message}
		}
		suite.Cases = append(suite.Cases, x)
	}
	text, _ := xml.MarshalIndent(suite, "", "  ")
	return append([]byte(xml.Header), append(text, '\n')...)
}
