// Package underlying has a type whose fields another type declares.
package underlying

type data struct {
	inner struct{ size int }
	next  *View
}
