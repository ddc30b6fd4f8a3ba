package generic

func fresh() *Pool[string, int] { return nil }
