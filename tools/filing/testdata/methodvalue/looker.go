package methodvalue

type looker interface{ look() }

func find() looker { return nil }
