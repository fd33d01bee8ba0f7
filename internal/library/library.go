// Package library is what package tileiras lends to other programs of this module and keeps from those that import it: they could not name
// the types of internal/driver. Package tileiras fills it in. The table of options is what C and Python call them.
package library

import "tileiras/internal/driver"

var (
	// Driver is what internal/driver calls a *tileiras.Options.
	Driver func(options any) (driver.Options, error)
	// Call has messages about a *tileiras.Options call its fields otherwise.
	Call func(options any, called func(field string) string)
	// Error is the *tileiras.Error of an error of internal/driver, or of Driver.
	Error func(err error) error
)
