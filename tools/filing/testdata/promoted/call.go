package promoted

// Call uses a method that outer has from base, through middle.
func Call() { fresh().grow() }
