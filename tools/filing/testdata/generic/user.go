package generic

// Method calls a method of an instantiated type, and names no type.
func Method() int { return fresh().get("a") }
