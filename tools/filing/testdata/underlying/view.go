package underlying

// View has the fields of data.
type View data
