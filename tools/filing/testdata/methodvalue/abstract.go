package methodvalue

// Abstract is a method of an interface.
var Abstract = find().look
