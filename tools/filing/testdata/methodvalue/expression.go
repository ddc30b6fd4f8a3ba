package methodvalue

// Expression is a method of a type.
var Expression = pool[string].look
