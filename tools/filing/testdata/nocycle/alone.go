package nocycle

// Alone uses nothing that is not its own: names of other packages, of fields and
// of variables here are no uses of other files.
func Alone(limit int) int { return limit }
