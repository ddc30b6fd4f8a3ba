package promoted

type middle struct{ base[int] }
