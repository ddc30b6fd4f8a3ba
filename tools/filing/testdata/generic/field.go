package generic

// Field reads a field of an instantiated type.
func Field() string { return fresh().last }
