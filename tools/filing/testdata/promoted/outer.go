package promoted

type outer struct{ *middle }

func fresh() outer { return outer{} }
