package promoted

// Read uses a field that outer has from base, through middle.
func Read() int { return fresh().size }
