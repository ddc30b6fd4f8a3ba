package methodvalue

// Value is a method of a value.
var Value = shared.look
