// Package nocycle has files in an order.
package nocycle

// Serve uses both files below.
func Serve() int { return double(limit) }
